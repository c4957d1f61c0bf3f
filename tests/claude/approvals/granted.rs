//! A call that is allowed to a workflow is made without a question, until it is revoked.

use serde_json::json;

use super::{made, run_that_asks, wait_until_it_asks};
use crate::support::ClaudeWorld;
use crate::support::claude::bash;

/// The next run of `w` makes these calls.
#[track_caller]
fn goes_on_with(world: &ClaudeWorld, word: &str, commands: &[&str]) {
    let mut steps: Vec<_> = commands.iter().map(|command| bash(command)).collect();
    steps.push(json!({"text": format!("{word} is done")}));
    world.ask("w", &[&format!("{word}?")]);
    world.api.on(&format!("User chose: {word}"), json!(steps));
    world.answer("w", word);
}

#[track_caller]
fn wait_for_the_end(world: &ClaudeWorld, word: &str) {
    world.wait_status("w", word, |s| s["state"] == "delivered" && s["result"] == format!("{word} is done"));
}

#[test]
fn a_call_allowed_to_the_workflow_is_asked_after_revoking() {
    let world = run_that_asks(&json!([bash("note one"), bash("note one"), {"text": "begin is done"}]));
    world.answer("w", "workflow");
    wait_for_the_end(&world, "begin");
    assert_eq!(made(&world), ["one", "one"]);
    let list = world.ok("relaunch", &["approve", "--list"]);
    assert!(list.starts_with("w  ") && list.contains("  Bash  command: note one"), "{list}");
    goes_on_with(&world, "more", &["note one"]);
    wait_for_the_end(&world, "more");
    assert_eq!(made(&world).len(), 3);
    // Another call, and the same call of another workflow, are not what was allowed.
    let rounds = world.rounds("closed", "w").len();
    goes_on_with(&world, "other", &["note one two"]);
    let asked = wait_until_it_asks(&world, rounds + 1);
    assert!(asked["question"].as_str().is_some_and(|q| q.contains("command: note one two")), "{asked}");
    world.ok("ask-answer", &["decline", "w"]);
    wait_for_the_end(&world, "other");
    let revoked = world.ok("relaunch", &["approve", "--revoke", "w"]);
    assert!(revoked.starts_with("revoked    w  ") && revoked.contains("note one"), "{revoked}");
    assert_eq!(world.ok("relaunch", &["approve", "--list", "w", "--json"]), "");
    let rounds = world.rounds("closed", "w").len();
    goes_on_with(&world, "again", &["note one"]);
    wait_until_it_asks(&world, rounds + 1);
    assert_eq!(made(&world).len(), 3);
    world.answer("w", "once");
    wait_for_the_end(&world, "again");
    assert_eq!(made(&world).len(), 4);
    assert_eq!(world.audit("w").iter().filter(|event| *event == "revoked").count(), 1);
}
