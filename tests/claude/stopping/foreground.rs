//! `relaunch run --stream`: delegation with the events on standard output, stopped by a signal or by the reader going away.

use super::*;
use crate::support::claude::run as run_to_end;
use crate::support::service::signal;
use serde_json::json;
use std::io::{BufRead, BufReader};
use std::time::Instant;

#[test]
fn a_prompt_on_standard_input_gives_events_line_by_line_and_exit_0() {
    let service = service();
    let mut command = service.program("relaunch");
    command.args(["run", "--stream", "-w", "w", "-"]);
    let outcome = run_to_end(command, format!("Do it. @@{}", json!([bash("echo hello"), {"text": "all done"}])).as_bytes(), LIMIT).ok();
    let events = outcome.events();
    let types: Vec<&str> = events.iter().filter_map(|e| e["type"].as_str()).filter(|t| !["raw", "note"].contains(t)).collect();
    assert_eq!(types, ["started", "tool_call", "tool_result", "text", "result"], "{events:#?}");
    assert_eq!(events.last().expect("a last one")["text"], "all done");
    let seqs: Vec<u64> = events.iter().filter_map(|e| e["seq"].as_u64()).collect();
    assert_eq!(seqs, (1..=events.len() as u64).collect::<Vec<_>>());
    assert_eq!(service.events("w"), events);
    assert_eq!(service.status("w")["result"], "all done");
}

#[test]
fn events_come_as_they_happen() {
    let service = service();
    service.add_hold("hold");
    let mut run = start(&service, "w", &json!([bash("hold"), {"text": "done"}]));
    // The tool cannot end before it is let go: its call was told before.
    run.expect_type("tool_call");
    service.release("hold");
    run.expect_type("tool_result");
    let (outcome, _) = run.wait_end();
    assert!(outcome.status.success(), "{outcome:?}");
}

#[test]
fn a_reader_that_closes_the_pipe_stops_the_agent_at_its_tool_boundary() {
    let service = service();
    add_writer(&service);
    let mut command = task(&service, "w", &json!([write_steps(), {"text": "never"}]));
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut reader = BufReader::new(child.stdout.take().expect("piped"));
    let mut line = String::new();
    reader.read_line(&mut line).expect("a first event");
    assert!(serde_json::from_str::<Value>(&line).is_ok_and(|v| v["type"].is_string()), "{line}");
    wait_gate(&service, "begun");
    let groups = groups(&service);
    drop(reader);
    assert_eq!(child.wait().expect("its status").code(), Some(1));
    assert_eq!((written(&service), alive(&service, &groups)), (20, Vec::new()));
    let events = service.events("w");
    assert_eq!(interrupted(&events)["how"], "its reader went away");
    assert_eq!(rungs(&events), ["boundary"]);
}

#[test]
fn head_1_stops_it_and_nothing_lives_on() {
    let service = service();
    add_sleeper(&service);
    service.configure("[runner.claude]\nallowed_tools = ['Bash']\n[limits]\ngrace = '1s'\n");
    let file = service.home.work().join("../w.md");
    std::fs::write(&file, format!("Sleep. @@{}", json!([bash("sleep-long"), {"text": "never"}]))).expect("a file");
    let mut shell = Command::new("sh");
    let relaunch = service.program("relaunch");
    let line = format!("'{}' run --stream -w w '{}' | head -1", relaunch.get_program().display(), file.display());
    shell.args(["-c", &line]).env_clear().current_dir(service.home.work());
    for (name, value) in relaunch.get_envs() {
        shell.env(name, value.expect("set"));
    }
    let begun = Instant::now();
    let outcome = run_to_end(shell, b"", LIMIT);
    assert_eq!(outcome.stdout.lines().count(), 1);
    assert!(begun.elapsed().as_secs() < 30, "{:?}", begun.elapsed());
    assert_eq!(alive(&service, &groups(&service)), [""; 0]);
    assert_eq!(service.status("w")["state"], "interrupted");
}

#[test]
fn a_reader_that_goes_away_is_noticed_although_nothing_is_written() {
    let service = service_with("[limits]\ngrace = '1s'\n");
    add_sleeper(&service);
    let mut command = task(&service, "w", &json!([bash("sleep-long"), {"text": "never"}]));
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
    wait_gate(&service, "begun");
    // The next event would be the tool's end, in a minute.
    let groups = groups(&service);
    let begun = Instant::now();
    drop(child.stdout.take());
    assert_eq!(child.wait().expect("its status").code(), Some(1));
    assert!(begun.elapsed().as_secs() < 40, "{:?}", begun.elapsed());
    assert_eq!(alive(&service, &groups), [""; 0]);
    assert_eq!(interrupted(&service.events("w"))["how"], "its reader went away");
}

#[track_caller]
fn stopped_by(name: &str) {
    let service = service();
    add_writer(&service);
    let run = start(&service, "w", &json!([write_steps(), {"text": "never"}]));
    wait_gate(&service, "begun");
    signal(run.pid(), name);
    let (outcome, events) = run.wait_end();
    assert_eq!(outcome.status.code(), Some(1), "{outcome:?}");
    assert!(outcome.stderr.contains("to continue it: relaunch w"), "{outcome:?}");
    assert_eq!((written(&service), rungs(&events)), (20, vec!["boundary".to_owned()]));
    assert_eq!(interrupted(&events)["how"], format!("the supervisor got SIG{name}"));
    assert_eq!(alive(&service, &groups(&service)), [""; 0]);
}

#[test]
fn sigint_is_a_polite_stop() {
    stopped_by("INT");
}

#[test]
fn sigterm_is_a_polite_stop() {
    stopped_by("TERM");
}

#[test]
fn a_second_sigint_is_impatient() {
    let service = service();
    add_sleeper(&service);
    let mut run = start(&service, "w", &json!([bash("sleep-long"), {"text": "never"}]));
    wait_gate(&service, "begun");
    let groups = groups(&service);
    signal(run.pid(), "INT");
    run.expect("the first rung", |e| e["text"].as_str().is_some_and(|t| t.starts_with("ladder: boundary")));
    signal(run.pid(), "INT");
    let (_, events) = run.wait_end();
    assert_eq!(rungs(&events), ["boundary", "SIGTERM"]);
    interrupted(&events);
    assert_eq!(alive(&service, &groups), [""; 0]);
}

#[test]
fn a_parent_that_does_not_read_can_still_stop_it() {
    let service = service();
    // More than the pipe takes.
    let chatter: Vec<Value> = (0..40).map(|n| bash(&format!("printf '{n}%04000d' 0"))).collect();
    let mut steps = chatter;
    service.add_hold("hold");
    steps.push(bash("hold"));
    steps.push(json!({"text": "never"}));
    let mut command = task(&service, "w", &Value::Array(steps));
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
    // The agent is not held up by it: it comes to its last tool.
    let end = Instant::now() + LIMIT;
    while service.api.turns().len() < 41 {
        assert!(Instant::now() < end, "{}", service.describe("w"));
        service.api.wait_for(|log| log.len() > 40, LIMIT);
    }
    signal(child.id(), "TERM");
    let folder = service.mailbox().join("runs/w");
    let events = || {
        let round = std::fs::read_dir(&folder).expect("a round").flatten().find(|e| e.path().is_dir()).expect("one").path();
        read_lines(&round.join("1/events.jsonl"))
    };
    while rungs(&events()).is_empty() {
        assert!(Instant::now() < end);
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    service.release("hold");
    assert_eq!(child.wait().expect("its status").code(), Some(1));
    interrupted(&events());
}
