//! Promises 2 and 3 when processes die: the watcher, the supervisor, the agent and every pair of them are killed at each step
//! of a run. The table in `crashes.md` beside this file holds what is seen. `ASKBOX_WRITE_DOCS=1` writes it anew.

use std::path::Path;
use std::process::Child;
use std::sync::Mutex;

use crate::support::{World, files, in_parallel, kill, needs, output, strace, until};
use serde_json::Value;

/// Where the agent can be held, and what that is in words.
const STEPS: [(&str, &str); 5] = [
    ("spawned", "the agent is spawned and has read nothing"),
    ("began", "its session began, the model has the answer"),
    ("tool", "a tool runs, in a session of its own"),
    ("before_result", "the turn is nearly over"),
    ("result", "the result was told, the agent is about to go"),
];

#[derive(Clone, Copy, Default)]
struct Victims {
    watcher: bool,
    supervisor: bool,
    agent: bool,
}

impl Victims {
    /// Each alone, each pair, and all: a reboot.
    fn all() -> Vec<Self> {
        let bit = |n: u8, b: u8| n & b != 0;
        let mut all: Vec<_> = (1..8).map(|n| Self { watcher: bit(n, 1), supervisor: bit(n, 2), agent: bit(n, 4) }).collect();
        all.sort_by_key(|v| u8::from(v.watcher) + u8::from(v.supervisor) + u8::from(v.agent));
        all
    }

    fn words(self) -> String {
        let named = [(self.watcher, "watcher"), (self.supervisor, "supervisor"), (self.agent, "agent")];
        let words: Vec<_> = named.iter().filter(|(is, _)| *is).map(|(_, name)| *name).collect();
        if words.len() == 3 { "all three (a reboot)".into() } else { words.join(" + ") }
    }
}

/// One row: who, when, how many launches, what happened.
type Row = (usize, [String; 4]);

/// A tool of the agent that would outlive it, and then its work.
const AGENT: &str = "setsid sleep 1000 &\nwork";

fn answered() -> World {
    let world = World::stepping(AGENT);
    world.ask_and_answer("docs");
    world
}

/// What must hold whoever was killed, and what happened, in words.
#[track_caller]
fn verdict(world: &World, when: &str) -> [String; 2] {
    world.assert_whole(when);
    for folder in ["pending", "answered", "running", "parked", "quarantine"] {
        assert_eq!(world.names(folder), Vec::<String>::new(), "{when}: {folder}/ is not empty");
    }
    let closed = world.only("closed", "docs.").unwrap_or_else(|| panic!("{when}: not closed"));
    assert_eq!(world.json(closed)["closed"]["state"], "delivered", "{when}");
    until(&format!("{when}: nothing of the run lives"), || world.of_runs().is_empty());
    let (launches, shown, continued) = (world.logged("start "), world.logged("shown "), world.logged("continued "));
    assert_eq!((shown, world.logged("violation ")), (1, 0), "{when}: {:#?}", world.log());
    let records: Vec<Value> =
        files(&world.in_mailbox("runs")).into_keys().filter(|p| p.ends_with("run.json")).map(|p| world.json(p)).collect();
    assert_eq!(records.iter().filter(|r| r["state"] == "delivered").count(), 1, "{when}: {records:#?}");
    let sessions: std::collections::BTreeSet<_> = records.iter().map(|r| r["session_id"].to_string()).collect();
    assert_eq!(sessions.len(), 1, "{when}: {records:#?}");
    let what = match (launches, continued) {
        (1, 0) if records.len() == 1 => "one launch, delivered",
        (1, 0) => "never launched by the first attempt; the second delivers",
        (2, 0) => "launched again under the same session id; only then the model is shown the answer",
        (2, 1) => "the same session is resumed; the model is not shown the answer again",
        other => panic!("{when}: launches and resumes {other:?}: {:#?}", world.log()),
    };
    [launches.to_string(), what.to_owned()]
}

/// Holds the agent at a step, kills, lets go, and starts a watcher where there is none.
fn at_agent_step(step: &str, words: &str, victims: Victims) -> [String; 4] {
    let when = format!("{} killed when {words}", victims.words());
    let world = answered();
    world.hold(step);
    let round = world.round("docs");
    let watcher = world.start_watcher();
    let [agent, supervisor] = world.held(step);
    if step == "result" {
        let events = world.in_mailbox(format!("runs/docs/{round}/1/events.jsonl"));
        until(&when, || std::fs::read_to_string(&events).is_ok_and(|e| e.contains("\"type\":\"result\"")));
    }
    let _watcher = if victims.watcher {
        watcher.kill();
        None
    } else {
        Some(watcher)
    };
    if victims.supervisor {
        kill(supervisor);
    }
    if victims.agent {
        kill(agent);
    }
    world.let_go(step);
    let _second = victims.watcher.then(|| world.start_watcher());
    until(&when, || world.only("closed", "docs.").is_some());
    let [launches, what] = verdict(&world, &when);
    [victims.words(), words.to_owned(), launches, what]
}

/// A step between two system calls: the name that is about to appear, and which of its appearances.
struct Moment {
    who: &'static str,
    words: &'static str,
    call: &'static str,
    /// `{round}` is the round's id.
    path: &'static str,
    n: usize,
}

const fn moment(who: &'static str, words: &'static str, call: &'static str, path: &'static str, n: usize) -> Moment {
    Moment { who, words, call, path, n }
}

/// The system call that the C library of this build uses to open a file.
const OPEN: &str = if cfg!(target_env = "musl") { "open" } else { "openat" };

const RECORD: &str = "runs/docs/{round}/1/run.json";

/// Before the agent is launched, or told anything.
const BEFORE: [Moment; 6] = [
    moment("watcher", "about to claim", "renameat2", "running/docs.{round}.json", 1),
    moment("watcher", "claimed, no supervisor is started yet", OPEN, "/dev/null", 1),
    moment("watcher", "the supervisor is started, no attempt is written yet", "renameat2", RECORD, 1),
    moment("supervisor", "about to take the run's lock", "flock", "runs/docs/{round}/lock", 2),
    moment("supervisor", "about to write that it launches", "renameat", RECORD, 1),
    moment(FOREGROUND, "claimed, nothing is launched yet", "openat2", "running/docs.{round}.json", 1),
];

/// Whether the agent gets as far as to its log before it dies with its supervisor, the machine decides.
const LAUNCHED: [Moment; 3] = [
    moment("supervisor", "the agent is launched, its workflow not yet on record", "renameat", "workflows/docs.json", 1),
    moment(FOREGROUND, "the agent is launched, its attempt not yet on record", "renameat2", RECORD, 1),
    moment(FOREGROUND, "the agent is launched, its workflow not yet on record", "renameat", "workflows/docs.json", 1),
];

const AFTER: [Moment; 3] = [
    moment("supervisor", "the agent is gone, the final record is not written", "renameat", RECORD, 2),
    moment("supervisor", "the final record is written, the round still open", "renameat", "running/docs.{round}.json", 1),
    moment("supervisor", "the document says how it ended, the last move is missing", "renameat2", "closed/docs.{round}.json", 1),
];

/// `relaunch docs` on an answered workflow: it claims and supervises in one.
const FOREGROUND: &str = "`relaunch ID`";

/// strace that kills there.
fn killing(world: &World, moment: &Moment, round: &str) -> Vec<String> {
    let path = moment.path.replace("{round}", round);
    let absolute = world.in_mailbox(&path).display().to_string();
    // A call names a file by its descriptor, by its path below the mailbox, or by its name in an opened folder.
    let name = path.rsplit('/').next().expect("a name");
    let (trace, inject) = (format!("trace={}", moment.call), format!("inject={}:signal=KILL:when={}", moment.call, moment.n));
    strace(&["-qq", "-P", &absolute, "-P", &path, "-P", name, "-e", &trace, "-e", &inject, "-e", "signal=none", "-o", "/dev/null"])
}

fn kill_watcher(world: &World, moment: &Moment, round: &str, when: &str) {
    let mut watcher = world.start_watcher_behind(&killing(world, moment, round));
    until(when, || watcher.process.has_ended());
}

/// Kills right before a system call. A supervisor in the foreground is the same code as the watcher's.
fn at_moment(moment: &Moment) -> [String; 4] {
    let when = format!("{} killed when {}", moment.who, moment.words);
    let world = answered();
    let round = world.round("docs");
    if moment.who == "watcher" {
        kill_watcher(&world, moment, &round, &when);
    } else {
        if moment.who == "supervisor" {
            kill_watcher(&world, &BEFORE[1], &round, &when);
        }
        let out = output(world.wrapped(&killing(&world, moment, &round), "relaunch").arg("docs"));
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&out.status), Some(9), "{when}: {}", out.words());
    }
    assert!(world.only("closed", "docs.").is_none(), "{when}: it was over before");
    let watcher = world.start_watcher();
    until(&when, || world.only("closed", "docs.").is_some());
    let [launches, what] = verdict(&world, &when);
    watcher.kill();
    [moment.who.to_owned(), moment.words.to_owned(), launches, what]
}

enum Case {
    Moment(&'static Moment),
    Step(&'static str, &'static str, Victims),
}

/// Compares a table with the one that this page ends with, or writes it there.
pub fn is_the_table_of(page: &str, table: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(page);
    let text = std::fs::read_to_string(&path).expect(page);
    let (head, _) = text.split_once("\n| ").expect("the begin of the table");
    let written = format!("{head}\n{table}");
    if std::env::var_os("ASKBOX_WRITE_DOCS").is_some() {
        std::fs::write(&path, written).expect("write");
    } else {
        assert_eq!(text, written, "{page} says otherwise; ASKBOX_WRITE_DOCS=1 writes it anew");
    }
}

#[test]
fn an_agent_is_told_nothing_before_its_supervisor_may() {
    needs!("strace");
    for moment in &LAUNCHED {
        let [who, when, launches, what] = at_moment(moment);
        // An attempt that came on record is the second one's, session and all; of one that did not nobody knows.
        let expected = match launches.as_str() {
            "2" => what.starts_with("launched again under the same session id; only then the model is shown the answer"),
            _ => ["one launch, delivered", "never launched by the first attempt; the second delivers"].contains(&what.as_str()),
        };
        assert!(expected, "{who} killed when {when}: {launches}: {what}");
    }
}

/// The move into `closed/` is synced there alone.
#[test]
fn a_claimed_copy_that_a_power_cut_brings_back_is_not_run_again() {
    let world = answered();
    let round = world.round("docs");
    let copy = std::fs::read(world.in_mailbox("answered/docs.json")).expect("answered");
    world.ok("relaunch", &["docs"]);
    let back = |folder: &str| world.in_mailbox(format!("{folder}/docs.{round}.json"));
    std::fs::write(back("running"), &copy).expect("written");
    let watcher = world.start_watcher();
    until("the copy goes", || !back("running").exists());
    watcher.kill();
    std::fs::write(back("parked"), &copy).expect("written");
    let out = world.run("relaunch", &["retry", "docs"]);
    assert_eq!(out.status.code(), Some(4), "{}", out.words());
    assert!(!back("parked").exists());
    assert_eq!(world.logged("start "), 1, "{:#?}", world.log());
    assert!(back("closed").exists());
}

/// A process that claims and runs the round, and has not written the claim's record yet. Writing it takes four seconds.
fn slow_claim(world: &World) -> Child {
    let slow = strace(&["-qq", "-e", "trace=mkdirat", "-e", "inject=mkdirat:delay_enter=4000000:when=1", "-o", "/dev/null"]);
    let claiming = world.wrapped(&slow, "relaunch").arg("docs").stdout(std::process::Stdio::null()).spawn().expect("strace");
    until("it is claimed", || world.only("running", "docs.").is_some());
    claiming
}

/// The agent is launched before the round's own lock is there.
#[test]
fn a_round_being_claimed_is_not_one_whose_claimer_died() {
    needs!("strace");
    let world = answered();
    let mut claiming = slow_claim(&world);
    let watcher = world.start_watcher();
    let state = world.state("docs");
    // Unless this machine is even slower.
    assert!(state == "running" || world.in_mailbox("runs/docs").exists(), "{state}");
    assert!(claiming.wait().expect("wait").success());
    watcher.kill();
    assert_eq!((world.state("docs").as_str(), world.logged("start ")), ("delivered", 1), "{:#?}", world.log());
}

#[test]
fn a_run_that_is_just_being_claimed_can_be_stopped() {
    needs!("strace");
    let world = answered();
    world.hold("spawned");
    let mut claiming = slow_claim(&world);
    let stopped = world.run("relaunch", &["stop", "docs", "--now"]);
    assert_eq!(stopped.status.code(), Some(0), "{}", stopped.words());
    assert_eq!(claiming.wait().expect("wait").code(), Some(1));
    assert_eq!(world.state("docs"), "interrupted");
    until("nothing of the run lives", || world.of_runs().is_empty());
}

/// An answer waits for its own name alone.
#[test]
fn a_question_that_a_power_cut_brings_back_is_not_asked() {
    let world = World::stepping(AGENT);
    world.ok("ask-post", &["-w", "docs", "Merge?", "-o", "a=A"]);
    let pending = world.in_mailbox("pending/docs.json");
    let copy = std::fs::read(&pending).expect("pending");
    let written = pending.metadata().and_then(|m| m.modified()).expect("a time");
    let brought_back = || {
        std::fs::write(&pending, &copy).expect("written");
        std::fs::File::options().append(true).open(&pending).and_then(|f| f.set_modified(written)).expect("dated");
    };
    world.ok("ask-answer", &["docs", "a"]);
    brought_back();
    assert_eq!(world.run("ask-answer", &["docs", "a"]).status.code(), Some(4));
    assert!(!pending.exists(), "it is still asked");
    brought_back();
    world.ok("relaunch", &["docs"]);
    assert!(!pending.exists(), "it is still asked");
    brought_back();
    let watcher = world.start_watcher();
    until("the copy goes", || !pending.exists());
    assert_eq!(world.names("quarantine"), Vec::<String>::new());
    std::fs::write(&pending, &copy).expect("written");
    until("the younger copy is set aside", || world.names("quarantine").len() == 2);
    watcher.kill();
    assert_eq!(world.logged("start "), 1, "{:#?}", world.log());
}

mod promises {
    use super::*;

    #[test]
    fn an_answer_is_delivered_once_with_any_process_killed() {
        needs!("strace");
        let cases: Vec<(usize, Case)> = BEFORE
            .iter()
            .map(Case::Moment)
            .chain(STEPS.iter().flat_map(|(step, words)| Victims::all().into_iter().map(|v| Case::Step(step, words, v))))
            .chain(AFTER.iter().map(Case::Moment))
            .enumerate()
            .collect();
        let rows: Mutex<Vec<Row>> = Mutex::new(Vec::new());
        in_parallel(8, &cases, |(n, case)| {
            let row = match case {
                Case::Moment(moment) => at_moment(moment),
                Case::Step(step, words, victims) => at_agent_step(step, words, *victims),
            };
            rows.lock().expect("rows").push((*n, row));
        });
        let mut rows = rows.into_inner().expect("rows");
        rows.sort();
        let table: String =
            rows.iter().map(|(_, [who, when, launches, what])| format!("| {who} | {when} | {launches} | {what} |\n")).collect();
        let table = format!("| killed | when | launches | what happens |\n|---|---|---|---|\n{table}");
        is_the_table_of("tests/faults/crashes.md", &table);
    }

    /// The move out of `answered/` is synced in `running/` alone.
    #[test]
    fn an_answered_copy_that_a_power_cut_brings_back_is_not_run() {
        let world = answered();
        let answered = world.in_mailbox("answered/docs.json");
        let copy = std::fs::read(&answered).expect("answered");
        world.hold("tool");
        let watcher = world.start_watcher();
        until("it is at work", || world.is_held("tool"));
        world.put("answered/docs.json", &copy);
        world.let_go("tool");
        until("the copy goes", || !answered.exists());
        until("it is closed", || world.only("closed", "docs.").is_some());
        world.put("answered/docs.json", &copy);
        until("the copy goes", || !answered.exists());
        watcher.kill();
        assert_eq!(world.names("quarantine"), Vec::<String>::new());
        assert_eq!(world.logged("start "), 1, "{:#?}", world.log());
    }
}
