//! The first rung of the ladder: the tool in flight finishes, then the turn ends.

use super::*;
use crate::support::claude::bash;
use serde_json::json;

#[test]
fn a_stop_that_only_the_hooks_have_seen_is_a_stop() {
    let world = world();
    world.add_hold("hold");
    let run = start(&world, "w", &json!([bash("hold"), {"text": "never"}]));
    world.wait_for_hold("hold");
    // The request as `relaunch stop` writes it. On a slow disk the call can end before the supervisor is woken.
    let round = world.names("runs/w").remove(0);
    let request = json!({"at": askbox::time::rfc3339(askbox::time::now()), "by": "ann"});
    std::fs::write(world.in_mailbox(format!("runs/w/{round}/1/stop.json")), request.to_string()).expect("a request");
    world.release("hold");
    let (outcome, events) = run.wait_end();
    assert_eq!(outcome.status.code(), Some(1), "{outcome:?}");
    assert_eq!(interrupted(&events)["how"], "stopped by ann");
    assert_eq!(world.status("w")["state"], "interrupted");
}

#[test]
fn a_stop_finishes_the_call_in_flight_and_refuses_the_next() {
    let world = world();
    add_writer(&world);
    let second = json!({"tool": "Bash", "input": {"command": "touch second"}});
    let run = start(&world, "w", &json!([{"tools": [write_steps(), second]}, {"text": "never"}]));
    wait_gate(&world, "begun");
    stop(&world, "w", &[]);
    let (_, events) = run.wait_end();
    let last = interrupted(&events);
    assert_eq!(written(&world), 20);
    climbed(&events, &["boundary"]);
    assert_eq!(last["tool_calls"][0]["is_error"], false, "{last:#}");
    if !world.work().join("second").exists() {
        assert_eq!(last["tool_calls"][1]["is_error"], true, "{last:#}");
        assert!(last["tool_calls"][1]["text"].as_str().expect("words").contains("This run is being stopped"), "{last:#}");
    }
    assert_eq!(world.api.turns().len(), 1);
}

#[test]
fn a_subagent_is_stopped_after_its_tool_as_well() {
    let world = world();
    add_writer(&world);
    let inner = json!([write_steps(), bash("touch never"), {"text": "inner end"}]);
    let agent = json!({"tool": "Task", "input": {"description": "writes", "subagent_type": "general-purpose", "run_in_background": false,
        "prompt": format!("@@{inner}")}});
    let run = start(&world, "w", &json!([agent, bash("touch outer"), {"text": "outer end"}]));
    wait_gate(&world, "begun");
    stop(&world, "w", &[]);
    let (_, events) = run.wait_end();
    interrupted(&events);
    assert_eq!(written(&world), 20);
    climbed(&events, &["boundary"]);
    for name in ["never", "outer"] {
        assert!(!world.work().join(name).exists(), "{name}");
    }
    assert_eq!(world.status("w")["state"], "interrupted");
}

#[test]
fn with_report_it_is_asked_what_it_has() {
    let world = world();
    add_writer(&world);
    world.api.on("You have been stopped.", json!([{"text": "I wrote out.txt; the rest is open."}]));
    let run =
        start(&world, "w", &json!([{"text": "Twenty steps.", "tool": "Bash", "input": {"command": "write-steps"}}, {"text": "never"}]));
    wait_gate(&world, "begun");
    let said = stop(&world, "w", &["--report", "--json"]);
    let (_, events) = run.wait_end();
    let last = interrupted(&events);
    assert_eq!(said.events(), std::slice::from_ref(&last));
    assert_eq!(last["report"], "I wrote out.txt; the rest is open.");
    assert!(last["text"].as_str().expect("words").contains("Twenty steps."), "{last:#}");
    assert_eq!(written(&world), 20);
    assert_eq!(world.api.turns().len(), 2);
    let session = last["session_id"].as_str().expect("a session").to_owned();
    continues(&world, "w", &session, json!([{"text": "done"}]));
}

#[test]
fn an_agent_that_calls_a_tool_instead_of_reporting_ends() {
    let world = world();
    add_writer(&world);
    world.api.on("You have been stopped.", json!([bash("touch never"), {"text": "never"}]));
    let run = start(&world, "w", &json!([write_steps(), {"text": "never"}]));
    wait_gate(&world, "begun");
    stop(&world, "w", &["--report"]);
    let (_, events) = run.wait_end();
    assert_eq!(interrupted(&events)["report"], Value::Null);
    assert_eq!(world.status("w")["state"], "interrupted");
    assert!(!world.work().join("never").exists());
}

mod promises {
    use super::*;

    #[test]
    fn a_tool_of_20_steps_finishes_and_the_session_goes_on() {
        let world = world();
        add_writer(&world);
        let notes = world.work().join("notes.txt");
        let steps = json!([
            {"tool": "Write", "input": {"file_path": notes, "content": "x"}},
            {"text": "Now the twenty steps.", "tool": "Bash", "input": {"command": "write-steps"}},
            bash("touch never"),
            {"text": "never said"}
        ]);
        let run = start(&world, "w", &steps);
        wait_gate(&world, "begun");
        let said = stop(&world, "w", &[]);
        assert!(said.stdout.contains("go on with: relaunch w"), "{said:?}");
        assert_eq!(written(&world), 20);
        let (outcome, events) = run.wait_end();
        assert_eq!(outcome.status.code(), Some(1), "{outcome:?}");
        climbed(&events, &["boundary"]);

        let result = events.iter().rev().find(|e| e["type"] == "result").expect("a result");
        assert_eq!(result["terminal_reason"], "hook_stopped");
        let last = interrupted(&events);
        assert_eq!(last["how"], "stopped by ann");
        assert!(last["text"].as_str().expect("a text").contains("Now the twenty steps."), "{last:#}");
        assert_eq!(last["files_touched"], json!([notes]));
        let calls = last["tool_calls"].as_array().expect("calls");
        assert_eq!(calls.len(), 2, "{last:#}");
        assert_eq!((&calls[1]["name"], &calls[1]["is_error"]), (&json!("Bash"), &json!(false)));
        assert!(calls[1]["text"].as_str().expect("a result").contains("all written"), "{last:#}");
        let session = last["session_id"].as_str().expect("a session").to_owned();
        assert_eq!(world.status("w")["state"], "interrupted");
        assert_eq!(alive(&world, &groups(&world)), [""; 0]);
        // No request followed the tool's end.
        assert_eq!(world.api.turns().len(), 2);

        let told = continues(&world, "w", &session, json!([bash("echo third"), {"text": "done"}]));
        assert!(told.tool_results().iter().any(|r| r.contains("all written")), "{:?}", told.tool_results());
        assert_eq!(written(&world), 20);
        assert!(!world.work().join("never").exists());
    }
}
