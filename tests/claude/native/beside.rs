//! AskUserQuestion in one message with other calls. Its question is answered while another call works on.

use crate::claude::native::asking::{ask, told, which_database};
use crate::support::ClaudeWorld;
use crate::support::claude::bash;
use serde_json::{Value, json};

/// A run whose agent asks, works until that question is answered, and then makes the last call. `w` is answered meanwhile.
#[track_caller]
fn answered_during_the_message(allowed: &str, last: &Value, then: &Value) -> ClaudeWorld {
    let mut world = ClaudeWorld::new();
    world.configure(&format!("[runner.claude]\nallowed_tools = [{allowed}]\n[limits]\nhold = '5s'\n"));
    world.add_script("slow", "until [ -e ../home/.claude/questions/answered/w.json ]; do sleep 0.1; done; echo built >> built.log");
    world.keep_watching_from_the_start();
    world.ask("w", &["Begin?"]);
    let calls = json!({"tools": [ask(&which_database()), bash("slow"), last]});
    world.api.on("User chose: begin", json!([calls, then]));
    world.answer("w", "begin");
    world.wait_status("w", "asking beside its run", |_| world.names("pending") == ["w.json"]);
    world.answer("w", "SQLite");
    world
}

/// The answer has gone on once, beside a question that still waits, and nothing is parked. `rounds`: those that are over by then.
#[track_caller]
fn went_on_once(world: &ClaudeWorld, rounds: usize) {
    world.wait_status("w", "the end of what was answered", |_| {
        let over = world.rounds("closed", "w").len() >= rounds && world.names("running").is_empty();
        over || !world.names("parked").is_empty()
    });
    assert!(world.names("parked").is_empty(), "{}", world.describe("w"));
    assert!(world.api.turns().pop().expect("a turn").model_text().contains("SQLite") || told(world).concat().contains("SQLite"));
    assert_eq!(std::fs::read_to_string(world.work().join("built.log")).expect("a log"), "built\n");
    assert_eq!(world.launches().len(), 2, "{:#?}", world.launches());
}

#[test]
fn an_answer_during_a_call_that_is_asked_about_goes_on_once() {
    let world = answered_during_the_message("'Bash(slow:*)'", &bash("touch made"), &json!({"text": "done"}));
    went_on_once(&world, 2);
    let waits = world.document("pending/w.json");
    assert_eq!(waits["approval"]["tool"], "Bash", "{waits}");
    world.ok("ask-answer", &["decline", "w"]);
    world.wait_status("w", "the end of the work", |_| world.rounds("closed", "w").len() == 3);
    assert!(world.launches()[2].args.contains("--resume="), "{:#?}", world.launches());
}

#[test]
fn a_question_beside_an_answered_call_is_heard_by_its_session() {
    let then = json!([{"text": "done"}]);
    let world = answered_during_the_message("'Bash'", &bash("ask-post 'Other?' -o left -o right"), &then[0]);
    let is_over = || world.rounds("closed", "w").len() == 2 && world.names("running").is_empty();
    world.wait_status("w", "the other question", |s| s["question"] == "Other?" && is_over());
    world.api.on("User chose: left", json!([{"text": "went left"}]));
    world.answer("w", "left");
    world.wait_status("w", "the end", |s| s["result"] == "went left");
    let launch = world.launches().pop().expect("a launch");
    assert!(launch.args.contains("--resume="), "{launch:?}");
    let told = world.api.turns().pop().expect("a turn").model_text();
    assert!(told.contains("SQLite"), "{told}");
}

mod promises {
    use super::*;

    #[test]
    fn an_answer_during_another_calls_wait_goes_on_once() {
        let world = answered_during_the_message("'Bash'", &bash("ask-post 'Other?' --wait 5s"), &json!({"text": "done"}));
        went_on_once(&world, 2);
    }
}
