//! What surrounds a round costs its watcher nothing: thousands of past rounds, due dates, and other processes of the machine.

use std::process::Command;

use serde_json::json;

use crate::support::{Running, World, files, needs, strace, until};
use askbox::time::parse_rfc3339;

/// How many closed rounds a watcher with a target opens while one round of a workflow with so many past rounds is asked, answered,
/// delivered and told.
fn opened(past: usize) -> usize {
    let world = World::stepping("work");
    files::write_program(&world.path("notify.sh"), "#!/bin/sh\necho \"$1\" >>\"$AGENT_DIR/notified\"\n");
    world.configure(&format!("[notify]\ngrace = \"0s\"\n[target.command]\nexec = [\"{}\"]\n", world.path("notify.sh").display()));
    world.make_mailbox();
    world.past_rounds("w", 0..past);
    // The first round after those of an earlier version makes the list of the newest ones.
    world.ask_and_answer("w");
    world.sh("relaunch w");
    // The second reader completes the list of all workflows if the first one came right after a change.
    world.sh("askbox history --limit 5 >/dev/null; askbox history --limit 5 >/dev/null");
    let trace = world.path("trace");
    let before = strace(&["-f", "-qq", "-e", "trace=open,openat,openat2", "-e", "signal=none", "-o", trace.to_str().expect("a path")]);
    let watcher = world.start_watcher_behind(&before);
    watcher.says("watching ");
    world.ok("ask-post", &["-w", "w", "Merge?"]);
    let told = |n: usize| std::fs::read_to_string(world.agent("notified")).is_ok_and(|told| told.lines().count() >= n);
    until("the question is told", || told(1));
    world.ok("ask-answer", &["w", "yes"]);
    world.reaches("w", "delivered");
    until("its end is told", || told(2));
    drop(watcher);
    let trace = std::fs::read_to_string(trace).expect("a trace");
    trace.lines().filter(|line| line.contains("/w.01900000-0000-7000-8000-") || line.contains("\"w.01900000-0000-7000-8000-")).count()
}

#[test]
fn an_answer_does_not_wait_for_thousands_of_due_dates() {
    // The answer may come when the dates are nearly over, on a busy machine.
    until("the answer came in time", goes_before_the_dates);
}

/// False if too few dates were left when the answer was there.
fn goes_before_the_dates() -> bool {
    const DATES: usize = 4_000;
    let world = World::stepping("work");
    world.ok("ask-post", &["-w", "w", "Merge?"]);
    for n in 0..DATES {
        let (id, question) = (format!("d{n}"), format!("01900000-0000-7000-8000-{n:012x}"));
        let document = json!({
            "schema_version": 1, "workflow_id": id, "question_id": question, "question": "Merge?",
            "timestamp": "2026-01-01T00:00:00.000Z", "expires_at": "2026-01-02T00:00:00.000Z",
        });
        std::fs::write(world.in_mailbox(format!("pending/{id}.json")), document.to_string()).expect("a question");
        std::fs::write(world.in_mailbox(format!("timers/20260102T000000.000Z~expire~{id}~{question}")), "").expect("a timer");
    }
    world.sh("chmod -R go-w m");
    let watcher = world.watch();
    watcher.says("overdue ");
    world.ok("ask-answer", &["w", "yes"]);
    world.reaches("w", "delivered");
    watcher.says("launched ");
    watcher.says_times("overdue ", DATES);
    let audited = world.audited();
    let answered = audited.iter().find(|entry| entry["workflow_id"] == "w" && entry["event"] == "answered").expect("its entry");
    let answered = answered["at"].as_str().and_then(parse_rfc3339).expect("a time");
    // Each line of the log begins with its time.
    let is_later = |line: &str| line.split(' ').next().and_then(parse_rfc3339).is_some_and(|at| at > answered);
    let later = watcher.said("").into_iter().filter(|line| is_later(line)).collect::<Vec<_>>();
    let launched = later.iter().position(|line| line.contains("launched ")).unwrap_or_default();
    let dates = |lines: &[String]| lines.iter().filter(|line| line.contains("overdue ")).count();
    let (left, behind) = (dates(&later), dates(&later[launched..]));
    assert!(left < 500 || behind > left / 2, "only {behind} of {left} dates came behind the answer's agent");
    left >= 500
}

/// How often a watcher and its supervisor read the state of a process, while one answer is delivered.
fn looks_at_processes() -> usize {
    let world = World::stepping("work");
    world.make_mailbox();
    let trace = world.path("trace");
    let before = strace(&["-f", "-qq", "-e", "trace=open,openat,openat2", "-e", "signal=none", "-o", trace.to_str().expect("a path")]);
    let watcher = world.start_watcher_behind(&before);
    watcher.says("watching ");
    world.ask_and_answer("w");
    world.reaches("w", "delivered");
    drop(watcher);
    let trace = std::fs::read_to_string(trace).expect("a trace");
    trace.lines().filter(|line| line.contains("\"stat\"") || line.contains("/stat\"")).count()
}

#[test]
fn a_launch_looks_at_no_other_processes_of_the_machine() {
    needs!("strace");
    let alone = looks_at_processes();
    let _others: Vec<Running> = (0..200).map(|_| Running::start(Command::new("sleep").arg("600"))).collect();
    let beside = looks_at_processes();
    assert!(beside < alone + 100, "{alone} looks alone, {beside} beside 200 processes");
}

mod promises {
    use super::*;

    #[test]
    fn news_of_a_round_read_none_of_the_past_rounds() {
        needs!("strace");
        assert_eq!([opened(20), opened(2_000)], [0, 0]);
    }
}
