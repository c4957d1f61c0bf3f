//! The people of a storm: posters, answerers, editors, cancellers and a pruner. Who is killed tries again, as a script would.

use std::collections::{BTreeMap, HashSet};
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use serde_json::Value;

use crate::support::{World, until};

/// Rounds that ended years ago, for the pruner.
const OLD_ROUNDS: usize = 100;

/// How long a storm may take: much longer than it does on a busy machine.
const LONGEST: Duration = Duration::from_secs(900);
const LONGEST_FOR_EACH: Duration = Duration::from_secs(4);

/// How a question is answered.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    Plain,
    /// In the editor.
    Edited,
    /// While another person withdraws it.
    Contested,
    Declined,
}

/// One question in eight is edited, contested, declined.
pub fn manner(question: usize) -> Manner {
    match question % 8 {
        3 => Manner::Edited,
        5 => Manner::Contested,
        7 => Manner::Declined,
        _ => Manner::Plain,
    }
}

/// The state that the threads of a storm share.
pub struct Storm {
    pub world: World,
    pub questions: usize,
    next: AtomicUsize,
    /// Acknowledged questions that wait for an answerer.
    posted: Mutex<Vec<usize>>,
    more: Condvar,
    /// Those at work, for the attacker.
    pub clients: Mutex<HashSet<i32>>,
    answered: AtomicUsize,
    /// The state in which each round must end, if a command said so with status 0.
    pub acknowledged: Mutex<BTreeMap<String, &'static str>>,
    /// Nobody attacks any more: nearly all is done, or something failed.
    pub over: AtomicBool,
    longest: Duration,
}

/// Ends the storm when one of its threads fails: the others would wait for that one for ever.
pub struct Watch<'a>(pub &'a Storm);

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.over.store(true, Ordering::Relaxed);
        }
    }
}

impl Storm {
    pub fn new(questions: usize, agent: &str) -> Self {
        let each = LONGEST_FOR_EACH * u32::try_from(questions).expect("a number of questions");
        Self::within(LONGEST + each, questions, agent)
    }

    /// A storm that fails if it takes longer than this.
    pub fn within(longest: Duration, questions: usize, agent: &str) -> Self {
        let mut world = World::stepping(agent);
        let editor = world.path("editor");
        crate::support::files::write_program(&editor, "#!/bin/sh\nsed -i 1s/^/a/ \"$1\"\n");
        world.set_env(&[("EDITOR", &editor.display().to_string())]);
        // Who is killed has failed: that the queue is paused then is another test's.
        world.configure("attempts = 50\nbreaker_failures = 0");
        world.make_mailbox();
        world.set_longest_life(longest);
        Self {
            world,
            questions,
            next: AtomicUsize::new(0),
            posted: Mutex::new(Vec::new()),
            more: Condvar::new(),
            clients: Mutex::new(HashSet::new()),
            answered: AtomicUsize::new(0),
            acknowledged: Mutex::new(BTreeMap::new()),
            over: AtomicBool::new(false),
            longest,
        }
    }

    /// Runs a client that the attacker may kill; tells how it ended and what it said.
    fn client(&self, program: &str, args: &[&str]) -> (ExitStatus, String) {
        let mut command = self.world.command(program);
        let mut child = {
            // Under the lock: a child is waited for only once the attacker cannot know it any more.
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

    /// Runs a client until nobody kills it: the exit status, and how often it was killed.
    fn insist(&self, program: &str, args: &[&str]) -> (i32, usize, String) {
        for killed in 0.. {
            self.check_time();
            let (status, said) = self.client(program, args);
            match status.code() {
                // The editor may be hit instead, and is then reported.
                Some(1) if said.contains("editor") => {}
                Some(code) => return (code, killed, said),
                None => assert!(matches!(status.signal(), Some(9 | 15)), "{program} {args:?}: {status}: {said}"),
            }
        }
        unreachable!("it is killed for ever")
    }

    pub fn post(&self) {
        let _watch = Watch(self);
        loop {
            let n = self.next.fetch_add(1, Ordering::Relaxed);
            if n >= self.questions || self.over.load(Ordering::Relaxed) {
                return;
            }
            let (id, question) = (format!("w{n}"), format!("Question {n}?"));
            let (code, _, said) = self.insist("ask-post", &["-w", &id, &question, "-o", "a=A", "-o", "b=B"]);
            assert_eq!(code, 0, "ask-post {id}: {said}");
            self.posted.lock().expect("posted").push(n);
            self.more.notify_one();
        }
    }

    /// Answers what is posted, each question in its manner, until all are answered.
    pub fn answer(&self, manner: impl Fn(usize) -> Manner) {
        let _watch = Watch(self);
        loop {
            let n = {
                let mut posted = self.posted.lock().expect("posted");
                loop {
                    if let Some(n) = posted.pop() {
                        break n;
                    }
                    if self.answered.load(Ordering::Relaxed) == self.questions || self.over.load(Ordering::Relaxed) {
                        return;
                    }
                    posted = self.more.wait_timeout(posted, Duration::from_millis(20)).expect("posted").0;
                }
            };
            let id = format!("w{n}");
            match manner(n) {
                Manner::Plain => self.ends(&id, "delivered", &[&id, "a"]),
                Manner::Edited => self.ends(&id, "delivered", &["edit", &id]),
                Manner::Declined => self.ends(&id, "delivered", &["decline", &id]),
                Manner::Contested => self.contest(&id),
            }
            self.answered.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// A command of `ask-answer` without a competitor.
    fn ends(&self, id: &str, state: &'static str, args: &[&str]) {
        let (code, killed, said) = self.insist("ask-answer", args);
        // The one that was killed may have been accepted.
        assert!(code == 0 || (code == 4 && killed > 0), "ask-answer {args:?}: {code}: {said}");
        self.acknowledged.lock().expect("acknowledged").insert(id.into(), state);
    }

    /// One answers and another withdraws, at the same time: one of them wins, and the other is told.
    fn contest(&self, id: &str) {
        let (answer, cancel) = std::thread::scope(|scope| {
            let cancel = scope.spawn(|| self.insist("ask-answer", &["cancel", id]));
            (self.insist("ask-answer", &[id, "a"]), cancel.join().unwrap_or_else(|why| std::panic::resume_unwind(why)))
        });
        let winner = match (answer.0, cancel.0) {
            (0, 4) => Some("delivered"),
            (4, 0) => Some("withdrawn"),
            // One was killed after it had won.
            (4, 4) if answer.1 + cancel.1 > 0 => None,
            _ => panic!("{id}: answer {answer:?}, cancel {cancel:?}"),
        };
        if let Some(winner) = winner {
            self.acknowledged.lock().expect("acknowledged").insert(id.into(), winner);
        }
    }

    /// Rounds that the pruner may remove.
    pub fn make_old_rounds(&self) {
        let name = self.world.names("closed").remove(0);
        let document = self.world.document(&format!("closed/{name}"));
        for n in 0..OLD_ROUNDS {
            let (id, round) = (format!("old{n}"), format!("00000000-0000-7000-8000-{n:012}"));
            let mut old = document.clone();
            old["workflow_id"] = id.clone().into();
            old["question_id"] = round.clone().into();
            old["closed"]["at"] = "2020-01-01T00:00:00Z".into();
            let path = self.world.in_mailbox(format!("closed/{id}.{round}.json"));
            std::fs::write(&path, old.to_string()).expect("an old round");
            let file = std::fs::File::options().write(true).open(&path).expect("an old round");
            file.set_modified(std::time::UNIX_EPOCH + Duration::from_secs(1_577_836_800)).expect("its time");
            std::fs::create_dir_all(self.world.in_mailbox(format!("runs/{id}/{round}"))).expect("its folder");
        }
    }

    /// Prunes what is old, again and again.
    pub fn prune(&self) {
        let _watch = Watch(self);
        let gc = || self.insist("askbox", &["gc", "--keep", "1d"]);
        while !self.over.load(Ordering::Relaxed) {
            let (code, _, said) = gc();
            assert_eq!(code, 0, "{said}");
        }
        gc();
        let left: Vec<_> = ["closed", "runs"].iter().flat_map(|f| self.world.names(f)).filter(|n| n.starts_with("old")).collect();
        assert!(left.is_empty(), "not pruned: {left:?}");
    }

    /// Says at once that the storm takes too long, and where it stands: its programs were killed.
    #[track_caller]
    fn check_time(&self) {
        let is_over = self.world.is_out_of_time();
        assert!(!is_over, "the storm's time is over: {} of {} rounds ended within {:?}", self.ended(), self.questions, self.longest);
    }

    pub fn count(&self, folder: &str) -> usize {
        self.world.names(folder).len()
    }

    /// Rounds that are over.
    fn ended(&self) -> usize {
        ["closed", "parked"].iter().flat_map(|folder| self.world.names(folder)).filter(|name| name.starts_with('w')).count()
    }

    pub fn until_ended(&self, questions: usize) {
        loop {
            let ended = self.ended();
            if ended >= questions {
                return;
            }
            until(&format!("more than {ended} of {questions} rounds are over"), || {
                self.check_time();
                self.ended() > ended
            });
        }
    }

    /// A supervisor that is sent SIGTERM parks its round for a person to see. That person retries. How many there were.
    pub fn retry_parked(&self) -> usize {
        let parked = self.world.names("parked");
        for name in &parked {
            let workflow = name.split('.').next().unwrap_or_default();
            let document: Value = self.world.document(&format!("parked/{name}"));
            assert_eq!(document["workflow_id"], workflow);
            let out = self.world.run("relaunch", &["retry", workflow]);
            assert!(out.status.success(), "relaunch retry {workflow}: {}", out.words());
        }
        until("the retried rounds are closed", || self.count("parked") == 0 && self.count("running") == 0);
        parked.len()
    }
}
