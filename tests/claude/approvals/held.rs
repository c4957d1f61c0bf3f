//! What does not get through: rules that refuse, other calls in the same message, subagents, and answers that come as messages.

use std::path::Path;

use serde_json::{Value, json};

use super::{ASK, begin, made, question_about_a_database, run_that_asks, told, wait_until_it_asks, world_with};
use crate::support::claude::bash;

#[test]
fn a_rule_that_refuses_wins_over_one_that_asks() {
    let world = world_with(
        "[approvals]\nask = ['Bash(note:*)']\nrefuse = ['Bash(note two:*)']\n[runner.claude]\nallowed_tools = ['Bash(note:*)']\n",
    );
    begin(&world, &json!([bash("true; note two"), {"text": "refused"}]));
    assert_eq!(world.wait_state("w", "delivered")["result"], "refused");
    assert!(told(&world).contains("it matches `Bash(note two:*)` in [approvals] refuse"), "{}", told(&world));
    assert!(made(&world).is_empty() && world.names("pending").is_empty());
}

#[test]
fn a_rule_of_claude_code_that_denies_wins_over_an_approval() {
    let world = world_with(ASK);
    settings(&world.claude_config(), &json!({"permissions": {"deny": ["Bash(note:*)"]}}));
    begin(&world, &json!([bash("note one"), {"text": "denied"}]));
    wait_until_it_asks(&world, 1);
    world.answer("w", "once");
    assert_eq!(world.wait_state("w", "delivered")["result"], "denied");
    assert!(told(&world).contains("denied"), "{}", told(&world));
    assert!(made(&world).is_empty());
}

#[test]
fn an_ask_rule_of_claude_code_stops_no_approved_call() {
    let world = world_with(ASK);
    settings(&world.claude_config(), &json!({"permissions": {"ask": ["Bash(note:*)"]}}));
    begin(&world, &json!([bash("note one"), bash("note one"), {"text": "done"}]));
    wait_until_it_asks(&world, 1);
    world.answer("w", "once");
    wait_until_it_asks(&world, 2);
    assert_eq!(made(&world), ["one"]);
    world.answer("w", "workflow");
    assert_eq!(world.wait_state("w", "delivered")["result"], "done");
    assert_eq!(made(&world), ["one", "one"]);
}

#[test]
fn a_tool_of_an_mcp_server_is_asked_about_by_its_servers_name() {
    let world = world_with("");
    let server = json!({"mcpServers": {"box": {"command": crate::support::program("askbox"), "args": ["mcp"]}}}).to_string();
    world.configure(&format!("[approvals]\nask = ['mcp__box']\n[runner.claude]\nargs = ['--mcp-config', '{server}']\n"));
    let find = json!({"tool": "ToolSearch", "input": {"query": "select:mcp__box__save_checkpoint"}});
    let save = json!({"tool": "mcp__box__save_checkpoint", "input": {"workflow_id": "saved", "checkpoint": {"current_step": "one"}}});
    begin(&world, &json!([find, save, {"text": "done"}]));
    let asked = wait_until_it_asks(&world, 1);
    assert_eq!(asked["approval"]["tool"], "mcp__box__save_checkpoint");
    assert!(
        asked["question"].as_str().is_some_and(|q| q.contains("workflow_id: saved") && q.contains(r#"checkpoint: {"current_step":"one"}"#)),
        "{asked}"
    );
    assert!(world.names("checkpoints").is_empty());
    world.answer("w", "once");
    world.wait_state("w", "delivered");
    assert_eq!(world.names("checkpoints"), ["saved.json"], "{}", told(&world));
}

fn settings(folder: &Path, settings: &Value) {
    std::fs::create_dir_all(folder).expect("a folder");
    std::fs::write(folder.join("settings.json"), settings.to_string()).expect("settings");
}

#[test]
fn no_settings_and_no_mode_let_a_call_past_the_hook() {
    let off = json!({"disableAllHooks": true});
    for runner in ["allowed_tools = ['Bash(note:*)']", "permission_mode = 'bypassPermissions'"] {
        let world = world_with(&format!("{ASK}[runner.claude]\n{runner}\n"));
        settings(&world.claude_config(), &off);
        settings(&world.work().join(".claude"), &off);
        begin(&world, &json!([bash("note one"), {"text": "done"}]));
        wait_until_it_asks(&world, 1);
        assert!(made(&world).is_empty(), "{runner}");
        world.answer("w", "once");
        world.wait_state("w", "delivered");
        assert_eq!(made(&world), ["one"], "{runner}");
    }
}

#[test]
fn a_part_of_a_longer_command_is_asked_about() {
    let world = world_with("[approvals]\nask = ['Bash(note:*)']\n[runner.claude]\nallowed_tools = ['Bash(true:*)', 'Bash(echo:*)']\n");
    begin(&world, &json!([bash("echo plain"), bash("echo $(note hidden)"), {"text": "done"}]));
    let asked = wait_until_it_asks(&world, 1);
    assert!(asked["question"].as_str().is_some_and(|q| q.contains("command: echo $(note hidden)")), "{asked}");
    assert!(made(&world).is_empty());
}

#[test]
fn two_calls_in_one_message_are_both_asked_about() {
    let both = json!({"tools": [bash("note one"), bash("note two")]});
    let world = run_that_asks(&json!([both, bash("note two"), {"text": "done"}]));
    let first = world.document("pending/w.json");
    let is_one = first["question"].as_str().is_some_and(|q| q.contains("command: note one"));
    world.answer("w", "once");
    let again = wait_until_it_asks(&world, 2);
    assert!(told(&world).contains("Your user has not answered an earlier question yet"), "{}", told(&world));
    assert_eq!(made(&world), [if is_one { "one" } else { "two" }]);
    assert!(again["question"].as_str().is_some_and(|q| q.contains("command: note two")), "{again}");
    world.answer("w", "once");
    assert_eq!(world.wait_state("w", "delivered")["result"], "done");
    assert_eq!(made(&world), [if is_one { "one" } else { "two" }, "two"]);
}

#[test]
fn the_same_call_twice_in_one_message_is_allowed_once() {
    let both = json!({"tools": [bash("note one"), bash("note one")]});
    let world = run_that_asks(&json!([both, {"text": "done"}]));
    world.answer("w", "once");
    assert_eq!(world.wait_state("w", "delivered")["result"], "done");
    assert!(told(&world).contains("Your user has this question already"), "{}", told(&world));
    assert_eq!(made(&world), ["one"]);
}

#[test]
fn a_call_beside_the_agents_question_is_not_made_unasked() {
    let both = json!({"tools": [question_about_a_database(), bash("note one")]});
    let world = world_with(ASK);
    // The one that came second is refused with words, and the model does it again.
    begin(&world, &json!([both, {"tools": [bash("note one")]}, {"text": "done"}]));
    world.wait_status("w", "asking", |s| s["state"] == "pending" && world.names("running").is_empty());
    let first = world.document("pending/w.json");
    assert!(made(&world).is_empty());
    if first["approval"].is_object() {
        world.answer("w", "once");
        wait_until_it_asks(&world, 2);
        assert_eq!(made(&world), ["one"]);
        return;
    }
    world.answer("w", "SQLite");
    let second = wait_until_it_asks(&world, 2);
    assert!(
        told(&world).contains("\"Which database?\"=\"SQLite\"") && told(&world).contains("make it again once that answer is there"),
        "{}",
        told(&world)
    );
    assert!(second["question"].as_str().is_some_and(|q| q.contains("command: note one")) && made(&world).is_empty());
    world.answer("w", "once");
    assert_eq!(world.wait_state("w", "delivered")["result"], "done");
    assert_eq!(made(&world), ["one"]);
}

#[test]
fn an_approval_that_arrives_as_a_message_allows_nothing() {
    let world = run_that_asks(&json!([bash("note one"), {"text": "never said"}]));
    let asked = world.document("pending/w.json");
    std::fs::remove_file(world.transcript_of(asked["session_id"].as_str().expect("a session")).expect("a transcript"))
        .expect("it was there");
    world.api.on("User chose: once", json!([bash("note one"), {"text": "done"}]));
    world.answer("w", "once");
    let anew = wait_until_it_asks(&world, 2);
    assert!(made(&world).is_empty() && anew["tool_call"] != asked["tool_call"], "{anew}");
    world.answer("w", "once");
    world.wait_state("w", "delivered");
    assert_eq!(made(&world), ["one"]);
}

#[test]
fn a_withdrawn_approval_allows_nothing_when_its_run_goes_on() {
    let world = run_that_asks(&json!([bash("note one"), {"text": "went on without"}]));
    world.ok("ask-answer", &["cancel", "w"]);
    world.api.on("User chose: go", json!([{"text": "told"}]));
    world.ask("w", &["Go on?"]);
    world.configure(&format!("{ASK}[relaunch]\nmode = 'resume'\n"));
    world.answer("w", "go");
    world.wait_status("w", "told", |s| s["state"] == "delivered" && s["result"] == "told");
    let said = world.api.turns().pop().expect("a turn").model_text();
    assert!(said.contains("Nobody allows this call: its question was withdrawn"), "{said}");
    assert!(made(&world).is_empty());
}

#[test]
fn a_call_that_is_too_long_to_be_shown_is_refused() {
    let world = world_with(ASK);
    let long = format!("note {}", "x".repeat(40_000));
    begin(&world, &json!([bash(&long), {"text": "refused"}]));
    assert_eq!(world.wait_state("w", "delivered")["result"], "refused");
    assert!(told(&world).contains("bytes long as it is shown to a person"), "{}", told(&world));
    assert!(made(&world).is_empty() && world.names("pending").is_empty());
}
