//! Processes die while a call of AskUserQuestion waits, is posted, or gets its answer.

use serde_json::json;

use crate::claude::native::asking::{ask, run_that_asks, told, wait_until_it_asks, which_database};
use crate::support::claude::bash;
use crate::support::process::kill;
use crate::support::{ClaudeWorld, LIMIT, Signal, signal};

#[test]
fn an_attempt_killed_before_the_models_reply_gives_it_again() {
    let world = run_that_asks(&json!([ask(&which_database()), {"stall": true}]));
    world.configure("[relaunch]\nbackoff = '10ms'\n");
    world.answer("w", "SQLite");
    world.api.wait_for_text("Your questions have been answered", 1, LIMIT);
    world.api.on("User chose: begin", json!([ask(&which_database()), {"text": "went on"}]));
    world.api.on("Your process was interrupted", json!([{"text": "went on"}]));
    signal(world.only_process("relaunch supervise"), Signal::KILL);
    world.wait_status("w", "through", |s| s["state"] == "delivered" && s["result"] == "went on");
    let text = world.api.turns().pop().expect("a turn").model_text();
    assert_eq!(text.matches("\"Which database?\"=\"SQLite\"").count(), 1, "{text}");
}

#[test]
fn a_supervisor_killed_while_the_agent_asks_asks_once() {
    let mut world = ClaudeWorld::new();
    // The agent is held between the post of its question and the end of its turn.
    world.add_hold("hold");
    world.configure("[relaunch]\nbackoff = '10ms'\n[runner.claude]\nallowed_tools = [\"Bash(hold:*)\"]\n");
    world.keep_watching_from_the_start();
    world.ask("w", &["Begin?"]);
    let both = json!({"tools": [ask(&which_database()), bash("hold")]});
    world.api.on("User chose: begin", json!([both, {"text": "built"}]));
    world.api.on("Your process was interrupted", json!([ask(&which_database()), {"text": "built"}]));
    world.answer("w", "begin");
    world.wait_for_hold("hold");
    world.wait_status("w", "posted", |_| world.names("pending").len() == 1);
    kill(world.only_process("relaunch supervise"));
    wait_until_it_asks(&world);
    assert_eq!(world.names("pending"), ["w.json"]);
    world.answer("w", "Postgres");
    assert_eq!(world.wait_state("w", "delivered")["result"], "built");
    assert!(
        told(&world).concat().contains("Postgres")
            || world.api.turns().pop().expect("a turn").model_text().contains("User chose: Postgres")
    );
    assert_eq!(world.rounds("closed", "w").len(), 2);
}

#[test]
fn a_watcher_killed_between_question_and_answer_changes_nothing() {
    let mut world = run_that_asks(&json!([ask(&which_database()), {"text": "built"}]));
    world.stop_watching();
    world.answer("w", "SQLite");
    world.keep_watching();
    assert_eq!(world.wait_state("w", "delivered")["result"], "built");
    assert!(told(&world).concat().contains("\"Which database?\"=\"SQLite\""));
}

mod promises {
    use super::*;

    #[test]
    fn an_attempt_killed_after_the_answer_is_told_it_once() {
        let world = run_that_asks(&json!([ask(&which_database()), bash("echo did-that"), {"stall": true}]));
        world.api.on("Your process was interrupted", json!([{"text": "went on"}]));
        world.configure("[relaunch]\nbackoff = '10ms'\n");
        world.answer("w", "SQLite");
        world.api.wait_for_text("did-that", 1, LIMIT);
        world.wait_transcript("w", r#""command":"echo did-that""#);
        signal(world.only_process("relaunch supervise"), Signal::KILL);
        world.wait_status("w", "through", |s| s["state"] == "delivered" && s["result"] == "went on");
        let text = world.api.turns().pop().expect("a turn").model_text();
        assert_eq!(text.matches("\"Which database?\"=\"SQLite\"").count(), 1, "{text}");
    }
}
