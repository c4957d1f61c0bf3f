//! A user's own hook that blocks the message: no model was asked, so the answer is not delivered.

use serde_json::{Value, json};

use crate::support::ClaudeWorld;
use crate::support::claude::bash;

/// Sets a hook of the user's for this event. Its command stops the agent.
fn hook(world: &ClaudeWorld, event: &str, command: &str) {
    let hooks = json!({"hooks": {event: [{"hooks": [{"type": "command", "command": command}]}]}});
    std::fs::write(world.claude_config().join("settings.json"), hooks.to_string()).expect("the user's settings");
}

#[track_caller]
fn parked_with(command: &str, words: &str) -> Value {
    let mut world = ClaudeWorld::new();
    world.keep_watching_from_the_start();
    hook(&world, "UserPromptSubmit", command);
    world.ask("w", &["Begin?"]);
    world.answer("w", "yes");
    let status = world.wait_state("w", "parked");
    assert!(status["why"].as_str().is_some_and(|why| why.contains(words)), "{status} {:#?}", world.events("w"));
    assert_eq!(world.api.turns().len(), 0, "no model was asked");
    assert_eq!((&status["failure"], world.launches().len()), (&json!("blocked"), 1), "{status}");
    // Once the hook is gone, the answer arrives.
    std::fs::remove_file(world.claude_config().join("settings.json")).expect("the user's settings");
    world.api.on("User chose: yes", json!([{"text": "begun"}]));
    world.run("relaunch", &["retry", "w"]).ok();
    let delivered = world.wait_state("w", "delivered");
    assert_eq!(delivered["result"], "begun");
    assert_eq!(world.api.turns().pop().expect("a turn").model_text().matches("User chose: yes").count(), 1);
    status
}

#[test]
fn a_prompt_that_a_hook_blocks_is_not_delivered() {
    parked_with("echo 'no work after six' >&2; exit 2", "no work after six");
    parked_with(r#"echo '{"decision":"block","reason":"not on a Friday"}'"#, "not on a Friday");
    parked_with(r#"echo '{"continue":false,"stopReason":"the budget is frozen"}'"#, "the budget is frozen");
}

#[test]
fn a_hook_that_ends_the_turn_without_a_result_parks_the_run() {
    let mut world = ClaudeWorld::new();
    world.keep_watching_from_the_start();
    hook(&world, "PostToolUse", r#"echo '{"continue":false,"stopReason":"enough for today"}'"#);
    world.ask("w", &["Begin?"]);
    world.api.on("User chose: yes", json!([bash("checkpoint env w || true"), {"text": "never said"}]));
    world.answer("w", "yes");
    let status = world.wait_state("w", "parked");
    assert_eq!(status["failure"], "blocked", "{status}");
    std::fs::remove_file(world.claude_config().join("settings.json")).expect("the user's settings");
    world.api.on("Your process was interrupted", json!([{"text": "went on"}]));
    world.run("relaunch", &["retry", "w"]).ok();
    assert_eq!(world.wait_state("w", "delivered")["result"], "went on");
    let session = status["session_id"].as_str().expect("a session");
    assert!(world.launches()[1].args.contains(&format!("--resume={session}")), "{:#?}", world.launches());
}
