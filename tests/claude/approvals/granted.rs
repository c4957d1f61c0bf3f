//! A call that is allowed or refused to a workflow for good is made or refused without a question, until that is revoked.

use serde_json::json;

use super::{begin, made, run_that_asks, told, wait_until_it_asks, world_with};
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
    assert!(list.starts_with("w  ") && list.contains("  allow   Bash(note one)  command: note one"), "{list}");
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

/// Refuses the call that `w` asks about whenever `w` makes it.
#[track_caller]
fn refuse_for_good(world: &ClaudeWorld, why: &str) {
    let round = world.seen("w");
    world.ok("ask-answer", &["decline", "w", "--always", "--round", &round, "--note", why]);
}

#[test]
fn a_call_refused_for_good_is_refused_until_revoked() {
    let world = run_that_asks(&json!([bash("note one"), bash("note one"), {"text": "begin is done"}]));
    refuse_for_good(&world, "never on main");
    wait_for_the_end(&world, "begin");
    assert_eq!(world.rounds("closed", "w").len(), 2, "the second call is refused without a question: {}", world.describe("w"));
    let list = world.ok("relaunch", &["approve", "--list", "w"]);
    assert!(list.contains("  refuse  Bash(note one)  command: note one"), "{list}");
    goes_on_with(&world, "more", &["note one"]);
    wait_for_the_end(&world, "more");
    let read = told(&world);
    assert!(read.contains("whenever you make it") && read.contains("never on main") && read.contains("Bash(note one)"), "{read}");
    // Another call is asked about.
    let rounds = world.rounds("closed", "w").len();
    goes_on_with(&world, "other", &["note one two"]);
    wait_until_it_asks(&world, rounds + 1);
    world.answer("w", "once");
    wait_for_the_end(&world, "other");
    assert_eq!(made(&world), ["one two"]);
    let revoked = world.ok("relaunch", &["approve", "--revoke", "w"]);
    assert!(revoked.contains("  refuse  Bash(note one)"), "{revoked}");
    let rounds = world.rounds("closed", "w").len();
    goes_on_with(&world, "again", &["note one"]);
    wait_until_it_asks(&world, rounds + 1);
    assert_eq!(made(&world).len(), 1);
    let audited = world.audit("w");
    assert_eq!(audited.iter().filter(|event| ["always_refused", "revoked"].contains(&event.as_str())).count(), 2, "{audited:?}");
}

#[test]
fn a_held_call_refused_for_good_is_not_asked_about_again() {
    let world = world_with("[limits]\nhold = '30m'\n");
    begin(&world, &json!([bash("note one"), bash("note one"), {"text": "left it"}]));
    world.wait_status("w", "the question", |_| world.names("pending") == ["w.json"]);
    refuse_for_good(&world, "not this one");
    assert_eq!(world.wait_state("w", "delivered")["result"], "left it");
    assert!(made(&world).is_empty() && told(&world).contains("not this one"), "{}", told(&world));
    assert_eq!((world.launches().len(), world.audit("w").iter().filter(|event| *event == "posted").count()), (1, 2));
}
