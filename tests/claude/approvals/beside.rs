//! Calls beside each other in one message, of which no rule of the operator names any: a person decides about each one, and the model
//! never reads that its user rejected a call that nobody saw.

use serde_json::{Value, json};

use super::{begin, made, question_about_a_database, told, wait_until_it_asks, world_with};
use crate::support::ClaudeWorld;
use crate::support::claude::bash;

const QUICK: &str = "[relaunch]\nbackoff = '10ms'\n";

fn both(calls: &[Value]) -> Value {
    json!({"tools": calls})
}

#[track_caller]
fn wait_for_the_agents_question(world: &ClaudeWorld) {
    world.wait_status("w", "the agent's question", |s| {
        s["state"] == "pending" && world.names("running").is_empty() && world.document("pending/w.json")["approval"].is_null()
    });
    assert!(world.document("pending/w.json")["question"].as_str().is_some_and(|q| q == "Which database?"));
}

/// Waits until the live run asks about a call that is not the one of the question before.
#[track_caller]
fn wait_until_it_holds(world: &ClaudeWorld) -> Value {
    world.wait_status("w", "the question about a call", |_| {
        world.names("pending") == ["w.json"]
            && world.document("pending/w.json")["approval"].is_object()
            && world.names("running").len() == 1
    });
    world.document("pending/w.json")
}

#[test]
fn a_stopped_call_behind_a_question_is_asked_about_later() {
    let world = world_with(QUICK);
    begin(&world, &json!([both(&[question_about_a_database(), bash("note one")]), bash("note one"), {"text": "done"}]));
    wait_for_the_agents_question(&world);
    assert!(!world.notes("w").iter().any(|note| note.contains("in no transcript")), "{:?}", world.notes("w"));
    world.answer("w", "SQLite");
    let asked = wait_until_it_holds(&world);
    assert!(asked["question"].as_str().is_some_and(|q| q.contains("command: note one")) && made(&world).is_empty(), "{asked}");
    let read = told(&world);
    for words in ["\"Which database?\"=\"SQLite\"", "has not answered an earlier question yet: Which database?", "make it again once"] {
        assert!(read.contains(words), "{words} is missing: {read}");
    }
    world.answer("w", "once");
    world.wait_status("w", "the end", |s| s["state"] == "delivered" && s["result"] == "done");
    assert_eq!(made(&world), ["one"]);
}

#[test]
fn a_stopped_call_before_a_question_is_decided_before_it() {
    let world = world_with(QUICK);
    begin(&world, &json!([both(&[bash("note one"), question_about_a_database()]), {"text": "done"}]));
    wait_until_it_holds(&world);
    world.answer("w", "once");
    wait_for_the_agents_question(&world);
    assert_eq!(made(&world), ["one"]);
    world.answer("w", "SQLite");
    world.wait_status("w", "the end", |s| s["state"] == "delivered" && s["result"] == "done");
    let read = told(&world);
    assert!(read.contains("\"Which database?\"=\"SQLite\"") && read.contains("noted one"), "{read}");
}

#[test]
fn a_question_cut_off_with_a_held_call_is_not_called_rejected() {
    let world = world_with(&format!("[limits]\nhold = '1s'\n{QUICK}"));
    begin(&world, &json!([both(&[bash("note one"), question_about_a_database()])]));
    let asked = wait_until_it_asks(&world, 1);
    assert!(asked["question"].as_str().is_some_and(|q| q.contains("command: note one")), "{asked}");
    world.api.on("User chose: once", json!([both(&[bash("note one"), question_about_a_database()]), {"text": "done"}]));
    world.answer("w", "once");
    wait_for_the_agents_question(&world);
    let read = world.api.requests_with_text("User chose: once")[0].model_text();
    assert!(read.contains("were cut off with this one: AskUserQuestion. They were not made."), "{read}");
    assert!(read.contains("your user has never seen them"), "{read}");
    assert_eq!(made(&world), ["one"]);
    world.answer("w", "SQLite");
    world.wait_status("w", "the end", |s| s["state"] == "delivered" && s["result"] == "done");
}

#[test]
fn a_held_call_alone_says_nothing_of_other_calls() {
    let world = world_with(&format!("[limits]\nhold = '1s'\n{QUICK}"));
    begin(&world, &json!([both(&[bash("echo before"), bash("note one")])]));
    wait_until_it_asks(&world, 1);
    world.api.on("User chose: once", json!([bash("note one"), {"text": "done"}]));
    world.answer("w", "once");
    world.wait_status("w", "the end", |s| s["state"] == "delivered" && s["result"] == "done");
    let read = world.api.requests_with_text("User chose: once")[0].model_text();
    assert!(!read.contains("Other calls of the same message"), "{read}");
    assert_eq!(made(&world), ["one"]);
}
