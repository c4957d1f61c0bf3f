//! A `claude` that is killed after it has fetched an answer, and before its transcript shows it.

use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};

use super::interactive::begin;
use super::{call, find, servers, which_database};
use crate::support::claude::{bash, uuid};
use crate::support::{ClaudeWorld, Signal, signal, until};

/// Waits until a process has taken the answer of `db`, and its claim is on record.
fn fetched(world: &ClaudeWorld) {
    let record = |round: &Value| format!("runs/db/{}/1/run.json", round["question_id"].as_str().unwrap_or_default());
    let is_on_record = || world.rounds("running", "db").iter().any(|round| world.in_mailbox(record(round)).exists());
    let is_taken = || is_on_record() || !world.rounds("closed", "db").is_empty();
    until("the answer is fetched", || world.names("answered").is_empty() && world.names("pending").is_empty() && is_taken());
}

/// Waits for the end of the round. The answer has to have reached the session's model, or one agent that was launched with it.
#[track_caller]
fn assert_heard_once(world: &ClaudeWorld, session: &str, when: &str) {
    world.wait_state("db", "delivered");
    let transcript = world.transcript_of(session).map(|path| std::fs::read_to_string(path).expect("readable")).unwrap_or_default();
    let entries = transcript.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let is_shown = |entry: &Value| {
        let is_entry = ["user", "attachment"].iter().any(|kind| entry["type"] == *kind);
        is_entry && entry.to_string().contains("User chose: lite") && !entry.to_string().contains("An agent was started with this answer")
    };
    let shown = entries.filter(is_shown).count();
    assert_eq!(shown + world.launches().len(), 1, "{when}: shown {shown} times\n{}", world.describe("db"));
}

/// A session is killed with its task's answer. It is resumed at once.
fn kill_a_task(is_busy: bool, moment: u64) {
    let mut world = ClaudeWorld::used_before();
    world.keep_watching_from_the_start();
    let session = uuid();
    let mut steps = vec![find(&["ask_user"]), call("ask_user", &which_database())];
    if is_busy {
        steps.extend([bash("sleep 7"), bash("sleep 2")]);
    }
    steps.extend([json!({"text": "turn ended"}), json!({"text": "woken and made"})]);
    world.api.on("Ask for the database.", json!(steps));
    world.api.on("User chose: lite", json!([{"text": "made"}]));
    let terminal = begin(&world, &["--session-id", &session]);
    terminal.see("❯");
    terminal.say("Ask for the database.");
    if is_busy {
        until("the question", || world.in_mailbox("pending/db.json").exists())
    } else {
        drop(terminal.see("turn ended"))
    }
    world.answer("db", "lite");
    fetched(&world);
    std::thread::sleep(Duration::from_millis(moment));
    for pid in world.processes("mcp-config") {
        signal(pid, Signal::KILL);
    }
    until("claude is gone", || world.processes("mcp-config").is_empty());
    drop(terminal);
    let resumed = begin(&world, &["--resume", &session]);
    resumed.see("❯");
    assert_heard_once(&world, &session, &format!("busy {is_busy}, {moment} ms"));
}

/// From the moment of the fetch to 120 ms after it. An idle session's transcript shows the answer after about 100 ms.
#[test]
fn an_answer_that_a_killed_session_had_fetched_is_heard_once() {
    for moment in [0, 30, 60, 120] {
        kill_a_task(false, moment);
    }
}

/// A busy session shows the answer after its call. Claude Code forgets a notice that waits for that.
#[test]
fn an_answer_that_waited_in_a_killed_session_is_heard_once() {
    kill_a_task(true, 1000);
}

#[test]
fn an_answer_around_a_waiting_claudes_death_is_heard_once() {
    for moment in [0, 5, 10, 20, 40] {
        let mut world = ClaudeWorld::new();
        world.configure("[mcp]\nwait = \"10m\"");
        world.keep_watching_from_the_start();
        let session = uuid();
        world.api.on("Ask.", json!([find(&["ask_user"]), call("ask_user", &which_database()), {"text": "heard"}]));
        world.api.on("User chose: lite", json!([{"text": "made"}]));
        let mut claude = world.claude();
        claude.args(["-p", "Ask.", "--session-id", &session, "--mcp-config", &servers(), "--allowedTools=mcp__askbox"]);
        let mut claude = claude.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the real claude");
        until("the question", || world.in_mailbox("pending/db.json").exists());
        world.answer("db", "lite");
        fetched(&world);
        std::thread::sleep(Duration::from_millis(moment));
        signal(i32::try_from(claude.id()).expect("a pid"), Signal::KILL);
        claude.wait().expect("an end");
        assert_heard_once(&world, &session, &format!("{moment} ms"));
    }
}
