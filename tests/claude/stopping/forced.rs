//! The last rungs of the ladder: a tool that takes too long is killed with all its processes.

use super::*;
use crate::support::ClaudeWorld;
use crate::support::claude::bash;
use serde_json::json;

#[track_caller]
fn stopped_with(args: &[&str]) -> (ClaudeWorld, Vec<Value>) {
    let world = world();
    add_sleeper(&world);
    let run = start(&world, "w", &json!([{"text": "Sleeping.", "tool": "Bash", "input": {"command": "sleep-long"}}, {"text": "never"}]));
    wait_gate(&world, "begun");
    let groups = groups(&world);
    assert!(alive(&world, &groups).len() >= 4, "{:?}", alive(&world, &groups));
    stop(&world, "w", args);
    assert_eq!(alive(&world, &groups), [""; 0]);
    let (_, events) = run.wait_end();
    (world, events)
}

#[test]
fn after_the_grace_time_the_tool_is_killed_with_its_processes() {
    let (world, events) = stopped_with(&["--grace", "1s"]);
    climbed(&events, &["boundary", "SIGTERM"]);
    let session = interrupted(&events)["session_id"].as_str().expect("a session").to_owned();
    continues(&world, "w", &session, json!([{"text": "done"}]));
}

#[test]
fn a_second_stop_with_now_makes_the_first_one_stop_at_once() {
    let world = world();
    add_sleeper(&world);
    let mut run = start(&world, "w", &json!([bash("sleep-long"), {"text": "never"}]));
    wait_gate(&world, "begun");
    let mut first = world.command("relaunch");
    let mut first = silent(first.args(["stop", "w", "--grace", "10m"])).spawn().expect("it starts");
    run.expect("the first rung", |e| e["text"].as_str().is_some_and(|t| t.starts_with("ladder: boundary")));
    stop(&world, "w", &["--now"]);
    assert!(first.wait().expect("its status").success());
    let (_, events) = run.wait_end();
    climbed(&events, &["boundary", "SIGTERM"]);
    interrupted(&events);
}

mod promises {
    use super::*;

    #[test]
    fn stop_now_kills_the_tool_with_all_its_processes() {
        let (world, events) = stopped_with(&["--now"]);
        climbed(&events, &["SIGTERM"]);
        let last = interrupted(&events);
        assert!(last["text"].as_str().expect("a text").contains("Sleeping."), "{last:#}");
        assert_eq!(world.status("w")["state"], "interrupted");
        let session = last["session_id"].as_str().expect("a session").to_owned();
        continues(&world, "w", &session, json!([{"text": "done"}]));
    }
}
