//! Promises 1 to 4 under load: many posters, answerers and two watchers at once, left alone and then with every kind of
//! process killed at random. `ASKBOX_STORM=N` sets the number of questions, `ASKBOX_STORM_SEED=N` the killer's choices.

use std::collections::{BTreeMap, HashSet};
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::{Watcher, World, files, kill, processes, until};

const POSTERS: usize = 16;
const ANSWERERS: usize = 8;

fn number(name: &str, default: usize) -> usize {
    std::env::var(name).map_or(default, |v| v.parse().unwrap_or_else(|_| panic!("{name} is not a number")))
}

/// What the threads of a storm share.
struct Storm {
    world: World,
    questions: usize,
    next: AtomicUsize,
    /// Acknowledged questions that wait for an answerer.
    posted: Mutex<Vec<usize>>,
    more: Condvar,
    /// Posters and answerers at work, for the killer.
    clients: Mutex<HashSet<i32>>,
    answered: AtomicUsize,
    over: AtomicBool,
}

impl Storm {
    fn new(questions: usize, agent: &str) -> Self {
        let world = World::stepping(agent);
        // Who is killed has failed: that the queue is paused then is another test's.
        world.configure("attempts = 50\nbreaker_failures = 0");
        world.make_mailbox();
        Self {
            world,
            questions,
            next: AtomicUsize::new(0),
            posted: Mutex::new(Vec::new()),
            more: Condvar::new(),
            clients: Mutex::new(HashSet::new()),
            answered: AtomicUsize::new(0),
            over: AtomicBool::new(false),
        }
    }

    /// Runs a client that the killer may kill; tells how it ended and what it said.
    fn client(&self, program: &str, args: &[&str]) -> (ExitStatus, String) {
        let mut command = self.world.command(program);
        let mut child = {
            // Under the lock: a child is waited for only once the killer cannot know it any more.
            let mut clients = self.clients.lock().expect("clients");
            let child = command.args(args).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("a client");
            clients.insert(i32::try_from(child.id()).expect("a pid"));
            child
        };
        let mut said = String::new();
        let _ = std::io::Read::read_to_string(child.stderr.as_mut().expect("piped"), &mut said);
        self.clients.lock().expect("clients").remove(&i32::try_from(child.id()).expect("a pid"));
        (child.wait().expect("wait"), said)
    }

    /// A poster: repeats what was killed, as a script would.
    fn post(&self) {
        loop {
            let n = self.next.fetch_add(1, Ordering::Relaxed);
            if n >= self.questions {
                return;
            }
            let (id, question) = (format!("w{n}"), format!("Question {n}?"));
            loop {
                let (status, said) = self.client("ask-post", &["-w", &id, &question, "-o", "a=A", "-o", "b=B"]);
                if status.success() {
                    break;
                }
                assert_eq!(status.signal(), Some(9), "ask-post {id}: {said}");
            }
            self.posted.lock().expect("posted").push(n);
            self.more.notify_one();
        }
    }

    fn answer(&self) {
        loop {
            let n = {
                let mut posted = self.posted.lock().expect("posted");
                loop {
                    if let Some(n) = posted.pop() {
                        break n;
                    }
                    if self.answered.load(Ordering::Relaxed) == self.questions {
                        return;
                    }
                    posted = self.more.wait_timeout(posted, Duration::from_millis(20)).expect("posted").0;
                }
            };
            let (id, mut tries) = (format!("w{n}"), 0);
            loop {
                let (status, said) = self.client("ask-answer", &[&id, "a"]);
                match (status.signal(), status.code()) {
                    (Some(9), _) => tries += 1,
                    (_, Some(0)) => break,
                    // The one that was killed had been accepted.
                    (_, Some(4)) if tries > 0 => break,
                    _ => panic!("ask-answer {id}: {status}: {said}"),
                }
            }
            self.answered.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn count(&self, folder: &str) -> usize {
        self.world.names(folder).len()
    }

    /// Rounds that are over, beside the one that made the mailbox.
    fn ended(&self) -> usize {
        self.count("closed") - 1 + self.count("parked")
    }

    fn until_ended(&self, questions: usize) {
        loop {
            let ended = self.ended();
            if ended >= questions {
                return;
            }
            until(&format!("more than {ended} of {questions} rounds are over"), || self.ended() > ended);
        }
    }

    /// What must hold at the end of every storm.
    fn assert_each_exactly_once(&self) {
        self.world.assert_whole("at the end");
        for folder in ["pending", "answered", "running", "quarantine"] {
            assert_eq!(self.world.names(folder), Vec::<String>::new(), "{folder}/ is not empty");
        }
        let mut rounds = BTreeMap::<String, Vec<String>>::new();
        for folder in ["closed", "parked"] {
            for name in self.world.names(folder).into_iter().filter(|n| n.starts_with('w')) {
                rounds.entry(name.split('.').next().unwrap_or_default().into()).or_default().push(format!("{folder}/{name}"));
            }
        }
        assert_eq!(rounds.len(), self.questions, "workflows that ended");
        assert!(rounds.values().all(|r| r.len() == 1), "a workflow ended twice: {:?}", rounds.values().find(|r| r.len() != 1));
        let mut delivered = BTreeMap::<String, usize>::new();
        for (path, bytes) in files(&self.world.in_mailbox("runs")) {
            if path.ends_with("run.json") {
                let run: Value = serde_json::from_slice(&bytes).expect("a record");
                let round =
                    format!("{}.{}", run["workflow_id"].as_str().unwrap_or_default(), run["question_id"].as_str().unwrap_or_default());
                *delivered.entry(round).or_default() += usize::from(run["state"] == "delivered");
            }
        }
        for name in rounds.values().flatten() {
            let round = name.split_once('/').expect("a folder").1.trim_end_matches(".json");
            let expected = usize::from(name.starts_with("closed/"));
            assert_eq!(delivered.get(round).copied().unwrap_or_default(), expected, "runs that delivered {round}");
        }
        let log = self.world.log();
        let violations: Vec<_> = log.iter().filter(|l| l.starts_with("violation")).collect();
        assert!(violations.is_empty(), "two agents of one round lived at once: {violations:?}");
        let shown = self.per_round(&log, "shown");
        if let Some((round, times)) = shown.iter().find(|(_, n)| **n != 1) {
            let lines: Vec<_> = log.iter().filter(|l| l.contains(round.as_str())).collect();
            panic!("a model was shown an answer {times} times: {lines:#?}");
        }
        assert_eq!(self.world.of_runs(), [], "processes of runs live");
    }

    /// Lines of a kind in the agents' log, by round.
    fn per_round(&self, log: &[String], kind: &str) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for line in log {
            if let [first, run, ..] = line.split(' ').collect::<Vec<_>>()[..]
                && first == kind
            {
                *counts.entry(run.rsplit_once('/').map_or(run, |(round, _)| round).to_owned()).or_default() += 1;
            }
        }
        counts
    }
}

#[test]
fn a_thousand_answers_make_a_thousand_launches_no_more_and_no_fewer() {
    let storm = Storm::new(number("ASKBOX_STORM", 1000), "work");
    let started = Instant::now();
    let watchers = [storm.world.start_watcher(), storm.world.start_watcher()];
    std::thread::scope(|scope| {
        (0..POSTERS).for_each(|_| drop(scope.spawn(|| storm.post())));
        (0..ANSWERERS).for_each(|_| drop(scope.spawn(|| storm.answer())));
    });
    let answered = started.elapsed();
    storm.until_ended(storm.questions);
    let took = started.elapsed();
    until("the last supervisor is gone", || storm.world.of_runs().is_empty());
    watchers.into_iter().for_each(Watcher::kill);
    storm.assert_each_exactly_once();
    let log = storm.world.log();
    for kind in ["start", "shown", "done"] {
        let counts = storm.per_round(&log, kind);
        assert_eq!((counts.len(), counts.values().sum::<usize>()), (storm.questions, storm.questions), "{kind}");
    }
    assert_eq!(storm.count("parked"), 0);
    eprintln!("{} questions: asked and answered in {answered:.1?}, all delivered after {took:.1?}", storm.questions);
}

/// A small generator of the killer's own, so that a seed repeats its choices.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap_or_default() % sides.max(1)
    }
}

/// Kills somebody every few milliseconds until the storm is over; a killed watcher is replaced. Returns the kills by kind.
fn killer(storm: &Storm, seed: u64, watchers: &mut [Watcher; 2]) -> BTreeMap<&'static str, usize> {
    let (mut dice, mut kills) = (Dice(seed | 1), BTreeMap::new());
    let ours = format!("ASKBOX_DIR={}", storm.world.mailbox().display());
    while !storm.over.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(2 + dice.roll(20) as u64));
        let mut killed = |kind| *kills.entry(kind).or_insert(0) += 1;
        match dice.roll(10) {
            0 => {
                let fresh = storm.world.start_watcher();
                std::mem::replace(&mut watchers[dice.roll(2)], fresh).kill();
                killed("watcher");
            }
            1..4 => {
                let clients = storm.clients.lock().expect("clients");
                if let Some(pid) = clients.iter().nth(dice.roll(clients.len())) {
                    kill(*pid);
                    killed("client");
                }
            }
            what => {
                let (kind, mark) = if what < 7 { ("supervisor", "\0supervise\0") } else { ("agent", "stepping.sh\0") };
                let is = |pid: i32| std::fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|c| String::from_utf8_lossy(&c).contains(mark));
                let found: Vec<i32> =
                    processes().into_iter().filter(|(pid, env)| env.contains(&ours) && is(*pid)).map(|(pid, _)| pid).collect();
                if let Some(pid) = found.get(dice.roll(found.len())) {
                    kill(*pid);
                    killed(kind);
                }
            }
        }
    }
    kills
}

#[test]
fn every_answer_is_delivered_once_while_everything_is_killed_at_random() {
    let seed = number("ASKBOX_STORM_SEED", 20_261_122) as u64;
    // An agent that ignores the SIGTERM it gets when its supervisor dies: somebody must see to it that it is gone.
    let storm = Storm::new(number("ASKBOX_STORM", 300), "trap '' TERM\nsleep 0.1\nwork\nsleep 0.05");
    let started = Instant::now();
    let mut watchers = [storm.world.start_watcher(), storm.world.start_watcher()];
    let kills = std::thread::scope(|scope| {
        let killer = scope.spawn(|| killer(&storm, seed, &mut watchers));
        let clients: Vec<_> =
            (0..POSTERS).map(|_| scope.spawn(|| storm.post())).chain((0..ANSWERERS).map(|_| scope.spawn(|| storm.answer()))).collect();
        clients.into_iter().for_each(|c| c.join().expect("a client"));
        storm.until_ended(storm.questions * 9 / 10);
        storm.over.store(true, Ordering::Relaxed);
        killer.join().expect("the killer")
    });
    storm.until_ended(storm.questions);
    until("the last supervisor is gone", || storm.world.of_runs().is_empty());
    watchers.into_iter().for_each(Watcher::kill);
    eprintln!(
        "{} questions, seed {seed}: {kills:?}; {} launches; {} parked; all over after {:.1?}",
        storm.questions,
        storm.world.logged("start "),
        storm.count("parked"),
        started.elapsed()
    );
    storm.assert_each_exactly_once();
}
