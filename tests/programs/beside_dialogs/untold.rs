//! A dialog whose call Claude Code writes to the transcript only after the dialog.

use std::process::Child;

use serde_json::{Value, json};

use super::{
    SESSION, adds, adds_at_once, allow, bash, closed, decision, event, goes_on, has_result, hook_of, hook_with, says, takes, waiting, world,
};
use crate::support::World;

/// A hook that has asked although the transcript has another call only, the id of its question, and the time before it.
fn asking(world: &World, tool: &str, input: &Value) -> (Child, String, String) {
    says(world, "waiting");
    let before = chrono::Utc::now().to_rfc3339();
    // The same call was made before.
    call(world, "toolu_0", &before, tool, input);
    let result = json!({"type": "tool_result", "tool_use_id": "toolu_0"});
    adds(world, &json!({"type": "user", "timestamp": before, "message": {"content": [result]}}));
    let hook = hook_with(world, tool, input, &[]);
    let id = waiting(world);
    let asked = world.document(&format!("pending/{id}.json"));
    assert!(asked["tool_call"]["id"].as_str().is_some_and(|id| id.starts_with("not-told-")), "{asked}");
    assert_eq!(asked["live"]["session"], SESSION);
    (hook, id, before)
}

fn call(world: &World, id: &str, at: &str, tool: &str, input: &Value) {
    let block = json!({"type": "tool_use", "name": tool, "id": id, "input": input});
    adds(world, &json!({"type": "assistant", "timestamp": at, "message": {"content": [block]}}));
}

#[test]
fn a_dialog_whose_call_is_in_no_transcript_is_asked_about() {
    let world = world();
    let (hook, id, before) = asking(&world, "Bash", &bash());
    allow(&world, &id, "once");
    assert_eq!(decision(hook), json!({"behavior": "allow", "updatedInput": bash()}));
    says(&world, "busy");
    call(&world, "toolu_1", &before, "Bash", &bash());
    // The agent makes the same call again at once.
    call(&world, "toolu_2", "2999-01-01T00:00:00Z", "Bash", &bash());
    takes(&world, "allow");
    closed(&world, &id, "delivered");
}

#[test]
fn a_background_agents_untold_call_is_asked_about() {
    let world = world();
    says(&world, "busy");
    let mut event = event(&world, "Bash", &bash());
    event["agent_id"] = json!("a2ed");
    let hook = hook_of(&world, &event, &[]);
    let id = waiting(&world);
    let asked = world.document(&format!("pending/{id}.json"));
    assert!(asked["tool_call"]["id"].as_str().is_some_and(|id| id.starts_with("not-told-")), "{asked}");
    assert_eq!(asked["live"]["in_background"], true);
    allow(&world, &id, "once");
    assert_eq!(decision(hook)["behavior"], "allow");
}

#[test]
fn an_untold_calls_answer_without_a_receipt_came_too_late() {
    let world = world();
    let (hook, id, before) = asking(&world, "ExitPlanMode", &json!({"plan": "# Plan"}));
    allow(&world, &id, "once");
    assert_eq!(decision(hook)["behavior"], "allow");
    call(&world, "toolu_1", &before, "ExitPlanMode", &json!({}));
    has_result(&world);
    goes_on(&world);
    closed(&world, &id, "superseded");
}

#[test]
fn an_untold_call_is_withdrawn_if_its_dialog_ends() {
    for is_written in [false, true] {
        let world = world();
        let (hook, id, before) = asking(&world, "Bash", &bash());
        if is_written {
            // The next dialog may be open already, so the session's file still says that it waits.
            let block = json!({"type": "tool_use", "name": "Bash", "id": "toolu_1", "input": bash()});
            let result = json!({"type": "tool_result", "tool_use_id": "toolu_1"});
            let made = json!({"type": "assistant", "timestamp": before, "message": {"content": [block]}});
            let ended = json!({"type": "user", "message": {"content": [result]}});
            adds_at_once(&world, &[made, ended]);
        } else {
            says(&world, "busy");
        }
        assert_eq!(decision(hook), Value::Null);
        closed(&world, &id, "withdrawn");
    }
}
