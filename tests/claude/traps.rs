//! Traps of `claude` around calls that wait for a person, each as askbox found it: what runs of askbox never do, and why. The ways around
//! them are tested in `native` and `approvals`.

use serde_json::{Value, json};

use crate::support::ClaudeWorld;
use crate::support::claude::live::Live;
use crate::support::claude::{bash, uuid};

const ASK: &str = "pick one";

/// The settings of a hook that says this about each call of AskUserQuestion.
fn hook(decision: &Value) -> String {
    let output = json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": decision}});
    let hook = json!({"type": "command", "command": format!("echo '{output}'")});
    json!({"hooks": {"PreToolUse": [{"matcher": "AskUserQuestion", "hooks": [hook]}]}}).to_string()
}

/// A world with a session that has asked, and waits with a deferred call.
#[track_caller]
fn waiting() -> (ClaudeWorld, String) {
    let world = ClaudeWorld::without_askbox();
    let options = json!([{"label": "Postgres", "description": "a server"}, {"label": "SQLite", "description": "a file"}]);
    let input = json!({"questions": [{"question": "Which DB?", "header": "DB", "multiSelect": false, "options": options}]});
    world.api.on(ASK, json!([{"tool": "AskUserQuestion", "input": input}, {"text": "done"}]));
    let session = uuid();
    let mut live = Live::start(&world, &["--session-id", &session, "--settings", &hook(&"defer".into())]);
    live.say(&uuid(), ASK);
    let result = live.expect_type("result");
    assert_eq!((&result["terminal_reason"], &result["stop_reason"]), (&json!("tool_deferred"), &json!("tool_deferred")));
    live.finish();
    assert_eq!(world.api.turns().len(), 1);
    (world, session)
}

#[test]
fn a_call_that_is_deferred_again_is_known_by_its_stop_reason_only_and_costs_no_request() {
    let (world, session) = waiting();
    for _ in 0..2 {
        let mut live = Live::start(&world, &["--resume", &session, "--settings", &hook(&"defer".into())]);
        let result = live.expect_type("result");
        assert_eq!((result.get("terminal_reason"), &result["stop_reason"]), (None, &json!("tool_deferred")), "{result}");
        live.finish();
    }
    assert_eq!(world.api.turns().len(), 1, "a relaunch that came too early does no harm");
}

#[test]
fn a_message_to_a_session_whose_call_is_deferred_again_destroys_the_question() {
    let (world, session) = waiting();
    let mut live = Live::start(&world, &["--resume", &session, "--settings", &hook(&"defer".into())]);
    live.say(&uuid(), r#"go on @@[{"text":"gone on"}]"#);
    live.expect("the answer to the message", |event| event["type"] == "result" && event["result"] == "gone on");
    live.finish();
    let told = world.api.turns().pop().expect("a turn").body.to_string();
    assert!(told.contains("Tool result missing due to internal error"), "{told}");
}

#[test]
fn a_deferred_call_that_is_made_again_without_its_hook_is_used_up_by_an_error() {
    let (world, session) = waiting();
    let mut live = Live::start(&world, &["--resume", &session]);
    live.close();
    live.expect_type("result");
    live.finish();
    let told = world.api.turns().pop().expect("a turn").tool_results().concat();
    assert!(told.contains("Stream closed") || told.contains("stream closed"), "{told}");
}

#[test]
fn a_call_that_was_refused_with_the_end_of_its_turn_needs_a_message_to_be_made_again() {
    let world = ClaudeWorld::without_askbox();
    let session = uuid();
    let mut live = Live::start(&world, &["--session-id", &session]);
    live.say(&uuid(), &format!("@@{}", json!([bash("touch made"), {"text": "never said"}])));
    let asked = live.expect_type("control_request");
    live.permit(&asked, &json!({"behavior": "deny", "message": "later", "interrupt": true}));
    let result = live.expect_type("result");
    assert_eq!((&result["terminal_reason"], &result["is_error"]), (&json!("aborted_tools"), &json!(true)));
    live.finish();
    assert_eq!(world.api.turns().len(), 1, "no request to the model");

    let (outcome, events) = Live::start(&world, &["--resume", &session]).finish();
    assert!(outcome.status.success() && !events.iter().any(|event| event["type"] == "result"), "{events:#?}");
    assert_eq!(world.api.turns().len(), 1, "without a message nothing happens");
    let mut live = Live::start(&world, &["--resume", &session]);
    live.say(&uuid(), &format!("again @@{}", json!([bash("touch made"), {"text": "made"}])));
    let asked = live.expect_type("control_request");
    live.permit(&asked, &json!({"behavior": "allow"}));
    assert_eq!(live.expect_type("result")["result"], "made");
    live.finish();
    assert!(world.work().join("made").exists());
}
