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
fn a_call_deferred_again_is_known_by_its_stop_reason() {
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
fn a_message_to_a_call_deferred_again_destroys_the_question() {
    let (world, session) = waiting();
    let mut live = Live::start(&world, &["--resume", &session, "--settings", &hook(&"defer".into())]);
    live.say(&uuid(), r#"go on @@[{"text":"gone on"}]"#);
    live.expect("the answer to the message", |event| event["type"] == "result" && event["result"] == "gone on");
    live.finish();
    let told = world.api.turns().pop().expect("a turn").body.to_string();
    assert!(told.contains("Tool result missing due to internal error"), "{told}");
}

#[test]
fn a_deferred_call_made_again_without_its_hook_is_used_up() {
    let (world, session) = waiting();
    let mut live = Live::start(&world, &["--resume", &session]);
    live.close();
    live.expect_type("result");
    live.finish();
    let told = world.api.turns().pop().expect("a turn").tool_results().concat();
    assert!(told.contains("Stream closed") || told.contains("stream closed"), "{told}");
}

#[test]
fn a_call_refused_with_its_turn_needs_a_message() {
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

/// The settings of a hook that runs this command before each call of a tool.
fn hook_of(event: &str, tool: &str, command: &str, seconds: u32) -> String {
    let hook = json!({"type": "command", "command": command, "timeout": seconds});
    json!({"hooks": {event: [{"matcher": tool, "hooks": [hook]}]}}).to_string()
}

/// A command that prints this decision about a call.
fn says(event: &str, decision: &Value) -> String {
    let mut output = json!({"hookEventName": event});
    output.as_object_mut().expect("an object").extend(decision.as_object().expect("an object").clone());
    format!("echo '{}'", json!({"hookSpecificOutput": output}))
}

#[test]
fn a_deferred_call_without_a_permission_host_is_kept() {
    let (world, session) = waiting();
    let outcome = world.prompt_stream("", &["--resume", &session, "--settings", &hook(&"defer".into())]);
    assert_eq!(outcome.status.code(), Some(1), "{outcome:?}");
    assert!(outcome.stdout.contains("tool_deferred_unavailable"), "{outcome:?}");
    let mut live = Live::start(&world, &["--resume", &session, "--settings", &hook(&"defer".into())]);
    assert_eq!(live.expect_type("result")["stop_reason"], "tool_deferred", "it still waits");
    live.finish();
    assert_eq!(world.api.turns().len(), 1);
}

#[test]
fn an_empty_allow_uses_the_question_up_with_an_error() {
    for (input, told) in [(json!({}), "failed schema validation"), (Value::Null, "losed")] {
        let (world, session) = waiting();
        let mut decision = json!({"permissionDecision": "allow"});
        if !input.is_null() {
            decision["updatedInput"] = input;
        }
        let settings = hook_of("PreToolUse", "AskUserQuestion", &says("PreToolUse", &decision), 120);
        let mut live = Live::start(&world, &["--resume", &session, "--settings", &settings]);
        live.close();
        live.expect_type("result");
        live.finish();
        let results = world.api.turns().pop().expect("a turn").tool_results().concat();
        assert!(results.contains(told), "{decision}: {results}");
    }
}

#[test]
fn of_two_deferred_calls_in_one_message_only_one_waits() {
    let world = ClaudeWorld::without_askbox();
    let session = uuid();
    let settings = hook_of("PreToolUse", "Bash", &says("PreToolUse", &json!({"permissionDecision": "defer"})), 120);
    let mut live = Live::start(&world, &["--session-id", &session, "--settings", &settings]);
    live.say(&uuid(), &format!("@@{}", json!([{"tools": [bash("touch one"), bash("touch two")]}, {"text": "done"}])));
    let result = live.expect_type("result");
    let waits = result["deferred_tool_use"]["input"]["command"].clone();
    assert!(waits == "touch one" || waits == "touch two", "{result}");
    live.finish();
    let allow = hook_of("PreToolUse", "Bash", &says("PreToolUse", &json!({"permissionDecision": "allow"})), 120);
    let mut live = Live::start(&world, &["--resume", &session, "--settings", &allow]);
    assert_eq!(live.expect_type("result")["result"], "done");
    live.finish();
    let made = ["one", "two"].map(|name| world.work().join(name).exists());
    assert_eq!(made, [waits == "touch one", waits == "touch two"], "the other call is gone");
}

#[test]
fn a_subagent_whose_call_is_deferred_ends_without_a_word() {
    let world = ClaudeWorld::without_askbox();
    world.api.on("Sub work.", json!([bash("touch made"), {"text": "never said"}]));
    let input = json!({"description": "work", "prompt": "Sub work.", "subagent_type": "general-purpose", "run_in_background": false});
    let settings = hook_of("PreToolUse", "Bash", &says("PreToolUse", &json!({"permissionDecision": "defer"})), 120);
    let mut live = Live::start(&world, &["--settings", &settings]);
    world.api.on("Do it.", json!([{"tool": "Agent", "input": input}, {"text": "done"}]));
    live.say(&uuid(), "Do it.");
    let result = live.expect_type("result");
    assert_eq!(result["result"], "done", "{result}");
    live.finish();
    let told = world.api.requests_with_text("Do it.").pop().expect("a turn").tool_results().concat();
    assert!(told.contains("returned no output") && !told.contains("never said"), "{told}");
    assert!(!world.work().join("made").exists());
}

#[test]
fn a_hook_that_takes_too_long_lets_the_call_go_on_to_the_rules() {
    let world = ClaudeWorld::without_askbox();
    // The hook would refuse the call if `claude` waited for it.
    let refuses = says("PreToolUse", &json!({"permissionDecision": "deny", "permissionDecisionReason": "no"}));
    let settings = hook_of("PreToolUse", "Bash", &format!("sleep 600; {refuses}"), 1);
    let mut live = Live::start(&world, &["--settings", &settings, "--allowedTools=Bash(touch:*)"]);
    live.say(&uuid(), &format!("@@{}", json!([bash("touch made"), {"text": "done"}])));
    assert_eq!(live.expect_type("result")["result"], "done");
    live.finish();
    assert!(world.work().join("made").exists());
}

#[test]
fn a_hook_of_a_permission_request_cannot_defer_the_call() {
    let world = ClaudeWorld::without_askbox();
    let settings = hook_of("PermissionRequest", "Bash", &says("PermissionRequest", &json!({"decision": {"behavior": "defer"}})), 120);
    let mut live = Live::start(&world, &["--settings", &settings]);
    live.say(&uuid(), &format!("@@{}", json!([bash("touch made"), {"text": "done"}])));
    let asked = live.expect_type("control_request");
    assert_eq!(asked["request"]["subtype"], "can_use_tool", "the permission host is asked as without it");
    live.permit(&asked, &json!({"behavior": "deny", "message": "no"}));
    assert_eq!(live.expect_type("result")["result"], "done");
    live.finish();
    assert!(!world.work().join("made").exists());
}
