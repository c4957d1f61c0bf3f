//! A person changes a call before they allow it: exactly the changed call is made, once, and the model is told.

use serde_json::json;

use super::{ASK, begin, made, run_that_asks, told, wait_until_it_asks, world_with};
use crate::support::ClaudeWorld;
use crate::support::claude::bash;

/// Allows the call that `w` asks about with another command.
#[track_caller]
fn allow_edited(world: &ClaudeWorld, command: &str) {
    let round = world.seen("w");
    std::fs::write(world.path("edited"), command).expect("the new command");
    world.ok("ask-answer", &["edit", "w", "--input", &world.path("edited").display().to_string(), "--round", &round]);
}

#[test]
fn a_held_call_is_made_as_the_person_changed_it() {
    let world = world_with("[limits]\nhold = '30m'\n");
    begin(&world, &json!([bash("note one"), {"text": "it is noted"}]));
    world.wait_status("w", "the question", |_| world.names("pending") == ["w.json"]);
    allow_edited(&world, "note two");
    world.wait_status("w", "the end", |s| s["state"] == "delivered" && s["result"] == "it is noted");
    assert_eq!((made(&world), world.launches().len()), (vec!["two".to_owned()], 1));
    let read = world.api.turns().pop().expect("a turn").model_text();
    assert!(read.contains("Your user changed this call of Bash before they allowed it."), "{read}");
}

#[test]
fn a_call_that_is_made_again_after_its_run_ended_is_changed_too() {
    let world = world_with("[limits]\nhold = '1s'\n[relaunch]\nbackoff = '10ms'\n");
    begin(&world, &json!([bash("note one")]));
    wait_until_it_asks(&world, 1);
    world.api.on("User chose: edited", json!([bash("note one"), {"text": "done"}]));
    allow_edited(&world, "note two");
    world.wait_status("w", "the end", |s| s["state"] == "delivered" && s["result"] == "done");
    assert_eq!(made(&world), ["two"], "{}", world.describe("w"));
}

#[test]
fn a_changed_call_meets_the_operators_refusals() {
    let world = world_with(&format!("{ASK}refuse = ['Bash(note forbidden:*)']\n"));
    begin(&world, &json!([bash("note one"), {"text": "left it"}]));
    wait_until_it_asks(&world, 1);
    let round = world.seen("w");
    std::fs::write(world.path("edited"), "note forbidden thing").expect("the new command");
    let edit = format!("ask-answer edit w --input '{}' --round {round}", world.path("edited").display());
    assert!(world.refused(4, &edit).contains("`Bash(note forbidden:*)`"), "the person learns it at once");
    // A person whose configuration does not have the rule.
    std::fs::write(world.path("person.toml"), "").expect("a configuration");
    world.sh(&format!("ASKBOX_CONFIG='{}' {edit}", world.path("person.toml").display()));
    assert_eq!(world.wait_state("w", "delivered")["result"], "left it");
    assert!(made(&world).is_empty() && told(&world).contains("the operator refuses the changed call"), "{}", told(&world));
}

mod promises {
    use super::*;

    #[test]
    fn a_suspended_call_is_made_as_the_person_changed_it() {
        let world = run_that_asks(&json!([bash("note one"), bash("note one"), {"text": "done"}]));
        let asked = world.document("pending/w.json");
        assert_eq!(asked["approval"]["editable"], json!({"field": "command", "text": "note one"}));
        let requests = world.api.turns().len();
        allow_edited(&world, "note two; note three");
        // The same call again is neither allowed by the answer nor changed by it.
        let anew = wait_until_it_asks(&world, 2);
        assert!(anew["question"].as_str().is_some_and(|text| text.contains("command: note one\n")), "{anew}");
        assert_eq!(made(&world), ["two", "three"], "{}", world.describe("w"));
        assert_eq!(world.api.turns().len(), requests + 1, "one request, with the call's result");
        let read = world.api.turns().pop().expect("a turn").model_text();
        assert!(
            told(&world).contains("noted two") && read.contains("Your user changed this call of Bash before they allowed it."),
            "{read}"
        );
        assert!(read.contains("but this: note two; note three"), "{read}");
        let audited = world.audited();
        let allowed = audited.iter().find(|line| line["event"] == "allowed").expect("an allowance");
        assert!(allowed["why"].as_str().is_some_and(|why| why.contains("edited")), "{allowed}");
        let closed = world.rounds("closed", "w");
        let answer = closed.iter().map(|round| &round["answer"]).find(|answer| answer["value"] == "edited").expect("the answer");
        assert_eq!(answer["edited"], "note two; note three");
    }
}
