//! `relaunch run --stream`: delegation with the events on standard output, stopped by a signal or by the reader going away.

use super::*;
use crate::support::claude::bash;
use crate::support::{Signal, feed, signal, until};
use serde_json::json;
use std::io::{BufRead, BufReader};
use std::time::Instant;

#[test]
fn events_come_as_they_happen() {
    let world = world();
    world.add_hold("hold");
    let mut run = start(&world, "w", &json!([bash("hold"), {"text": "done"}]));
    // The tool cannot end before it is let go: its call was told before.
    run.expect_type("tool_call");
    world.release("hold");
    run.expect_type("tool_result");
    let (outcome, _) = run.wait_end();
    assert!(outcome.status.success(), "{outcome:?}");
}

#[test]
fn a_reader_that_closes_the_pipe_stops_the_agent() {
    let world = world();
    add_writer(&world);
    let mut command = task(&world, "w", &json!([write_steps(), {"text": "never"}]));
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut reader = BufReader::new(child.stdout.take().expect("piped"));
    let mut line = String::new();
    reader.read_line(&mut line).expect("a first event");
    assert!(serde_json::from_str::<Value>(&line).is_ok_and(|v| v["type"].is_string()), "{line}");
    wait_gate(&world, "begun");
    let groups = groups(&world);
    drop(reader);
    assert_eq!(child.wait().expect("its status").code(), Some(1));
    assert_eq!((written(&world), alive(&world, &groups)), (20, Vec::new()));
    let events = world.events("w");
    assert_eq!(interrupted(&events)["how"], "its reader went away");
    climbed(&events, &["boundary"]);
}

#[test]
fn a_reader_that_ends_after_one_line_stops_all_processes() {
    let world = world();
    add_sleeper(&world);
    world.configure("[runner.claude]\nallowed_tools = ['Bash']\n[limits]\ngrace = '1s'\n");
    let file = world.path("w.md");
    std::fs::write(&file, format!("Sleep. @@{}", json!([bash("sleep-long"), {"text": "never"}]))).expect("a file");
    let begun = Instant::now();
    let outcome = world.shell(&format!("relaunch run --stream -w w '{}' | head -1", file.display()));
    assert_eq!(outcome.stdout.lines().count(), 1);
    assert!(begun.elapsed().as_secs() < 100, "{:?}", begun.elapsed());
    assert_eq!(alive(&world, &groups(&world)), [""; 0]);
    assert_eq!(world.status("w")["state"], "interrupted");
}

#[test]
fn a_reader_that_goes_away_is_noticed_without_a_write() {
    let world = service_with("[limits]\ngrace = '1s'\n");
    add_sleeper(&world);
    let mut command = task(&world, "w", &json!([bash("sleep-long"), {"text": "never"}]));
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
    wait_gate(&world, "begun");
    // The next event would be the tool's end, in ten minutes.
    let groups = groups(&world);
    let begun = Instant::now();
    drop(child.stdout.take());
    assert_eq!(child.wait().expect("its status").code(), Some(1));
    assert!(begun.elapsed().as_secs() < 100, "{:?}", begun.elapsed());
    assert_eq!(alive(&world, &groups), [""; 0]);
    assert_eq!(interrupted(&world.events("w"))["how"], "its reader went away");
}

#[track_caller]
fn stopped_by(unix_signal: Signal, name: &str) {
    let world = world();
    add_writer(&world);
    let run = start(&world, "w", &json!([write_steps(), {"text": "never"}]));
    wait_gate(&world, "begun");
    signal(run.pid(), unix_signal);
    let (outcome, events) = run.wait_end();
    assert_eq!(outcome.status.code(), Some(1), "{outcome:?}");
    assert!(outcome.stderr.contains("to continue it: relaunch w"), "{outcome:?}");
    assert_eq!(written(&world), 20);
    climbed(&events, &["boundary"]);
    assert_eq!(interrupted(&events)["how"], format!("the supervisor got SIG{name}"));
    assert_eq!(alive(&world, &groups(&world)), [""; 0]);
}

#[test]
fn sigint_stops_the_run_after_its_tool() {
    stopped_by(Signal::INT, "INT");
}

#[test]
fn sigterm_stops_the_run_after_its_tool() {
    stopped_by(Signal::TERM, "TERM");
}

#[test]
fn a_second_sigint_stops_the_run_without_waiting_for_its_tool() {
    let world = world();
    add_sleeper(&world);
    let mut run = start(&world, "w", &json!([bash("sleep-long"), {"text": "never"}]));
    wait_gate(&world, "begun");
    let groups = groups(&world);
    signal(run.pid(), Signal::INT);
    run.expect("the first rung", |e| e["text"].as_str().is_some_and(|t| t.starts_with("ladder: boundary")));
    signal(run.pid(), Signal::INT);
    let (_, events) = run.wait_end();
    climbed(&events, &["boundary", "SIGTERM"]);
    interrupted(&events);
    assert_eq!(alive(&world, &groups), [""; 0]);
}

#[test]
fn a_parent_that_does_not_read_can_still_stop_it() {
    let world = world();
    // More than the pipe takes.
    let chatter: Vec<Value> = (0..40).map(|n| bash(&format!("printf '{n}%04000d' 0"))).collect();
    let mut steps = chatter;
    world.add_hold("hold");
    steps.push(bash("hold"));
    steps.push(json!({"text": "never"}));
    let mut command = task(&world, "w", &Value::Array(steps));
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
    // The agent is not held up by it: it comes to its last tool.
    world.wait_for_hold("hold");
    signal(i32::try_from(child.id()).expect("a pid"), Signal::TERM);
    let folder = world.in_mailbox("runs/w");
    let events = || {
        let round = std::fs::read_dir(&folder).expect("a round").flatten().find(|e| e.path().is_dir()).expect("one").path();
        read_lines(&round.join("1/events.jsonl"))
    };
    until("the stop begins", || !rungs(&events()).is_empty());
    world.release("hold");
    assert_eq!(child.wait().expect("its status").code(), Some(1));
    interrupted(&events());
}

mod promises {
    use super::*;

    #[test]
    fn a_prompt_on_standard_input_gives_events_line_by_line() {
        let world = world();
        let mut command = world.command("relaunch");
        command.args(["run", "--stream", "-w", "w", "-"]);
        let outcome = feed(&mut command, format!("Do it. @@{}", json!([bash("echo hello"), {"text": "all done"}])).as_bytes()).ok();
        let (partial, events): (Vec<_>, Vec<_>) = outcome.events().into_iter().partition(|e| e["type"] == "partial");
        assert!(partial.iter().all(|e| e["text"] == "all done"), "{partial:#?}");
        let types: Vec<&str> = events.iter().filter_map(|e| e["type"].as_str()).filter(|t| !["raw", "note"].contains(t)).collect();
        assert_eq!(types, ["started", "generating", "tool_call", "tool_result", "generating", "text", "result"], "{events:#?}");
        assert_eq!(events.last().expect("a last one")["text"], "all done");
        let seqs: Vec<u64> = events.iter().filter_map(|e| e["seq"].as_u64()).collect();
        assert_eq!(seqs, (1..=events.len() as u64).collect::<Vec<_>>());
        assert_eq!(world.events("w"), events);
        assert_eq!(world.status("w")["result"], "all done");
    }
}
