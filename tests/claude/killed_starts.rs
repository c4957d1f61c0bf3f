//! Starts of the agent that are killed somewhere in their first two seconds: of a fresh session, of a resumed one and of a forked one.
//! Every answer is then delivered, told once and acted on once.
//!
//! Two of three kills hit the agent, the third its supervisor. `ASKBOX_STARTS=N` kills N starts of each kind. `tests/run starts N` sets
//! it, and prints what docs/dev/reliability.md sums up.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::support::claude::api::Request;
use crate::support::claude::bash;
use crate::support::process::{in_parallel, is_alive};
use crate::support::{ClaudeWorld, Signal, number, signal, until};

/// The kills are spread over this time after the launch, or over the life of an agent that is left alone if the machine is slower.
const SWEPT: Duration = Duration::from_secs(2);
/// The number of lanes. The starts of a lane follow each other.
const LANES: usize = 3;
const CONTINUE: &str = "Your process was interrupted";
const EARLIER: &str = "An earlier attempt at this began";

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Fresh,
    Resumed,
    Forked,
}

/// One start that is killed.
#[derive(Debug)]
struct Start {
    kind: Kind,
    number: usize,
    /// When it is killed, after its launch.
    at: Duration,
}

impl Start {
    /// The workflows of forked starts go on: each start forks the session of the one before.
    fn workflow(&self) -> String {
        match self.kind {
            Kind::Fresh | Kind::Resumed => format!("w-{:04}", self.number),
            Kind::Forked => format!("lane-{}", self.number % LANES),
        }
    }

    /// The question of the round. The message of the round has these words once.
    fn question(&self) -> String {
        format!("Walnut {:04}?", self.number)
    }

    /// The launches of its workflow, the oldest first, as process id and moment.
    fn launches(&self, world: &ClaudeWorld) -> Vec<(i32, SystemTime)> {
        let (folder, variable) = (world.path("launches"), format!("ASKBOX_WORKFLOW_ID={}", self.workflow()));
        let names = crate::support::names(&folder).into_iter().filter(|name| !name.ends_with(".env"));
        let of_workflow = |name: String| {
            let (at, pid) = name.split_once('.')?;
            let env = std::fs::read_to_string(folder.join(format!("{pid}.env"))).ok()?;
            let at = SystemTime::UNIX_EPOCH + Duration::from_nanos(at.parse().ok()?);
            env.split('\0').any(|line| line == variable).then_some((pid.parse().ok()?, at))
        };
        names.filter_map(of_workflow).collect()
    }

    /// Asks, answers, and goes on until the start that is to be killed has been launched. Returns its round, its agent's process id, and
    /// the moment of the launch.
    fn launch(&self, world: &ClaudeWorld) -> (String, i32, SystemTime) {
        let (workflow, question) = (self.workflow(), self.question());
        let answered = |question: &str| {
            let round = world.ask(&workflow, &[question]);
            world.answer(&workflow, "yes");
            round
        };
        if self.kind == Kind::Forked && self.launches(world).is_empty() {
            // A session that askbox launched, to be forked.
            self.wait_for_end(world, &answered("First?"));
        }
        let before = self.launches(world).len();
        let launched = |nth: usize| until("the launch", || self.launches(world).into_iter().nth(before + nth));
        let round = answered(&question);
        if self.kind != Kind::Resumed {
            let (agent, at) = launched(0);
            return (round, agent, at);
        }
        // An attempt that is cut in its second call, so that the next one resumes its session.
        let (agent, _) = launched(0);
        until("the second call", || world.path(format!("hangs.{}", self.number)).exists());
        let session = world.status(&workflow)["session_id"].as_str().expect("a session").to_owned();
        let has_call = || Some(std::fs::read_to_string(world.transcript_of(&session)?).ok()?.contains("\"hang "));
        until("its entry in the transcript", || has_call().unwrap_or(false));
        signal(agent, Signal::KILL);
        let (agent, at) = launched(1);
        (round, agent, at)
    }

    /// Waits until the round is over. Returns its status.
    fn wait_for_end(&self, world: &ClaudeWorld, round: &str) -> Value {
        let name = format!("{}.{round}.json", self.workflow());
        let is_over = || ["closed", "parked"].iter().any(|folder| world.in_mailbox(folder).join(&name).exists());
        until(&format!("the end of the start killed at {:?}, {name}", self.at), is_over);
        world.status(&self.workflow())
    }

    /// Kills the start at its moment. Returns false if its process had ended by then.
    fn kill(&self, agent: i32, launched: SystemTime) -> bool {
        std::thread::sleep((launched + self.at).duration_since(SystemTime::now()).unwrap_or_default());
        let victim = if self.number % 3 == 2 { parent(agent) } else { Some(agent) };
        let was_alive = is_alive(agent);
        victim.into_iter().for_each(|pid| signal(pid, Signal::KILL));
        was_alive
    }
}

/// The parent of an agent: its supervisor.
fn parent(pid: i32) -> Option<i32> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("PPid:"))?.trim().parse().ok()
}

fn delayed(milliseconds: u64, mut step: Value) -> Value {
    step["delay_ms"] = milliseconds.into();
    step
}

/// A watched mailbox with the scripts of all starts. The agents are slow, so that most of them live for longer than two seconds.
fn world_for<'a>(starts: impl Iterator<Item = &'a Start>) -> ClaudeWorld {
    let mut world = ClaudeWorld::new();
    world.configure(
        "[relaunch]\nbackoff = '10ms'\nmax_concurrent = 8\nbreaker_failures = 0\nsame_failure = 0\nattempts = 5\n\
         [runner.claude]\nallowed_tools = ['Bash(mark:*)', 'Bash(hang:*)']\n",
    );
    let (marks, hangs) = (world.path("marks").display().to_string(), world.path("hangs").display().to_string());
    world.add_script("mark", &format!("echo $1 >> '{marks}'; echo marked $1"));
    world.add_script("hang", &format!(": > '{hangs}'.$1; exec sleep 1000"));
    world.api.on("First?", json!([{"text": "first"}]));
    for Start { kind, number, .. } in starts {
        let mark = delayed(200, bash(&format!("mark {number}")));
        let end = match kind {
            Kind::Resumed => bash(&format!("hang {number}")),
            Kind::Fresh | Kind::Forked => delayed(1200, json!({"text": "done"})),
        };
        world.api.on(&format!("Walnut {number:04}?"), json!([mark, end]));
    }
    // The newest of these decides what a message makes the agent do: an agent that was cut off looks first, and does nothing again.
    world.api.on(CONTINUE, json!([delayed(1500, json!({"text": "went on"}))]));
    world.api.on(EARLIER, json!([{"text": "looked first"}]));
    world.keep_watching_from_the_start();
    world
}

/// The messages to continue behind the model's last words.
fn untended(turn: &Request) -> usize {
    let mut newest = turn.clone();
    let behind = turn.messages().iter().rev().take_while(|message| message["role"] != "assistant").cloned().collect();
    newest.body["messages"] = Value::Array(behind);
    newest.model_text().matches(CONTINUE).count()
}

#[track_caller]
fn sweep(kind: Kind) {
    let count = number("ASKBOX_STARTS", 5);
    let mut starts: Vec<_> = (0..count).map(|number| Start { kind, number, at: Duration::ZERO }).collect();
    let left_alone = Start { kind: Kind::Fresh, number: count, at: Duration::ZERO };
    let world = world_for(starts.iter().chain([&left_alone]));
    let (round, _, launched) = left_alone.launch(&world);
    left_alone.wait_for_end(&world, &round);
    let swept = SWEPT.max(launched.elapsed().unwrap_or_default());
    starts.iter_mut().for_each(|start| start.at = swept.mul_f64((start.number as f64 + 0.5) / count as f64));
    let ended = Mutex::new(BTreeMap::<&str, usize>::new());
    in_parallel(LANES, &(0..LANES).collect::<Vec<_>>(), |lane| {
        for start in starts.iter().skip(*lane).step_by(LANES) {
            let (round, agent, launched) = start.launch(&world);
            let was_alive = start.kill(agent, launched);
            let status = start.wait_for_end(&world, &round);
            assert_eq!(status["state"], "delivered", "stuck at {:?}: {status:#}\n{}", start.at, world.describe(&start.workflow()));
            let how = match (was_alive, status["attempt"].as_u64(), status["result"].as_str().unwrap_or_default()) {
                (false, ..) => "had ended",
                (true, Some(1), _) => "had the result",
                (true, _, "went on") => "went on",
                (true, _, "looked first") => "looked first",
                (true, ..) => "began anew",
            };
            *ended.lock().expect("no panic").entry(how).or_default() += 1;
        }
    });
    until("nothing of the runs lives", || world.of_runs().is_empty());

    let turns = world.api.turns();
    let marks = std::fs::read_to_string(world.path("marks")).unwrap_or_default();
    let (mut told_twice, mut done_twice, mut lost) = (Vec::new(), Vec::new(), Vec::new());
    for start in &starts {
        // A fork has the questions of the starts before it too.
        let next = Start { kind, number: start.number + LANES, at: start.at };
        let is_of_start = |text: &str| text.contains(&start.question()) && !text.contains(&next.question());
        let of_start: Vec<_> = turns.iter().filter(|turn| is_of_start(&turn.model_text())).collect();
        let is_told_twice = |turn: &&&Request| turn.model_text().matches(&start.question()).count() > 1 || untended(turn) > 1;
        told_twice.extend(of_start.iter().find(is_told_twice).map(|turn| (start, turn.model_text())));
        let done = marks.lines().filter(|line| *line == start.number.to_string()).count();
        if done > 1 {
            done_twice.push(start);
        }
        // The call may have been cut before it had its effect. The agent is told that it was begun.
        let is_warned = || of_start.iter().any(|turn| turn.model_text().contains(CONTINUE) || turn.model_text().contains(EARLIER));
        if of_start.is_empty() || done == 0 && !is_warned() {
            lost.push(start);
        }
    }
    let ended = ended.into_inner().expect("no panic");
    let how: Vec<_> = ended.iter().map(|(how, n)| format!("{n} {how}")).collect();
    eprintln!(
        "| {kind:?} | {count} | {:.1} s | {} | 0 | {} | {} |",
        swept.as_secs_f64(),
        how.join(", "),
        told_twice.len() + done_twice.len(),
        lost.len()
    );
    assert!(told_twice.is_empty() && done_twice.is_empty() && lost.is_empty(), "{told_twice:#?}\n{done_twice:?}\n{lost:?}");
}

#[test]
fn a_fresh_start_killed_at_any_moment_is_made_up_for() {
    sweep(Kind::Fresh);
}

#[test]
fn a_resumed_start_killed_at_any_moment_is_made_up_for() {
    sweep(Kind::Resumed);
}

#[test]
fn a_forked_start_killed_at_any_moment_is_made_up_for() {
    sweep(Kind::Forked);
}
