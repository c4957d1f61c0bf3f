//! A dialog that ends at its terminal while its question lies in the mailbox.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Attended, closed, made, touch, which_database, world};
use crate::support::{ClaudeWorld, until};

/// How soon the question is withdrawn. The machine of the tests is busy.
const SOON: Duration = Duration::from_secs(30);

/// Opens the dialog of a call, ends it with these keys, and returns the world with the id of the withdrawn question.
#[track_caller]
fn ended_by(call: Value, keys: &[&str]) -> (ClaudeWorld, String) {
    ended_by_and_then(call, keys, |_| {})
}

/// [`ended_by`]. The session goes on until `then` returns.
#[track_caller]
fn ended_by_and_then(call: Value, keys: &[&str], then: impl FnOnce(&ClaudeWorld)) -> (ClaudeWorld, String) {
    let world = world();
    let id = {
        let session = Attended::begin(&world);
        session.goes(&[call]);
        let id = session.asks();
        let pressed = session.ends_dialog(keys);
        let end = closed(&world, &id, "withdrawn");
        println!("withdrawn after {:?}: {}", pressed.elapsed(), end["closed"]["why"]);
        assert!(pressed.elapsed() < SOON, "{:?}", pressed.elapsed());
        assert!(end["answer"].is_null() && session.receipts().is_empty());
        then(&world);
        id
    };
    let late = world.run("ask-answer", &[&id, "once", "--round", end_round(&world, &id).as_str()]);
    assert_ne!(late.code(), 0, "{}", late.words());
    (world, id)
}

fn end_round(world: &ClaudeWorld, id: &str) -> String {
    world.rounds("closed", id)[0]["question_id"].as_str().expect("an id").to_owned()
}

#[test]
fn yes_for_a_long_command_withdraws_the_question_at_once() {
    let call = json!({"tool": "Bash", "input": {"command": "touch one; sleep 100", "description": "Wait"}});
    ended_by(call, &["1"]);
}

#[test]
fn escape_at_the_terminal_withdraws_the_question() {
    let (world, _) = ended_by(touch("one"), &["Escape"]);
    assert!(!made(&world, "one"));
}

#[test]
fn an_option_at_the_terminal_withdraws_the_question() {
    ended_by(which_database(), &["1"]);
}

#[test]
fn escape_at_a_question_withdraws_it() {
    ended_by(which_database(), &["Escape"]);
}

#[test]
fn a_person_within_the_grace_time_keeps_it_from_the_mailbox() {
    let world = world();
    world.reconfigure("200ms", "1h");
    let session = Attended::begin(&world);
    session.goes(&[touch("one")]);
    session.terminal.see(super::DIALOG);
    session.ends_dialog(&["1"]);
    session.told();
    assert!(made(&world, "one") && world.names("pending").is_empty() && world.names("closed").is_empty());
}

#[test]
fn both_at_the_same_moment_make_one_decision() {
    let mut world = world();
    // The session may kill its hook before the hook takes the answer. Then a watcher ends the round.
    world.keep_watching();
    let session = Attended::begin(&world);
    session.goes(&[touch("one")]);
    let id = session.asks();
    session.terminal.settle();
    let shown = world.ok("ask-answer", &["show", &id]);
    let command =
        shown.lines().map(str::trim).find(|line| line.starts_with("ask-answer ") && line.contains(" once ")).expect("the command");
    let words: Vec<&str> = command.split(' ').skip(1).collect();
    let answered = std::thread::scope(|scope| {
        let answering = scope.spawn(|| world.run("ask-answer", &words).code());
        session.terminal.burst(&["Escape"]);
        answering.join().expect("it ends")
    });
    // Escape may also interrupt the call that the answer has allowed. Its result names the interruption. Claude Code then drops the receipt if it
    // has not written it yet (read in 2.1.332). So nobody knows then if the answer counted.
    let cut = || session.entries().into_iter().find(|entry| entry["toolDenialKind"].is_string());
    let may_have_run = || cut().filter(|result| result["toolDenialBeforeRun"] != true);
    let end = until("the end is told, or never will be", || world.rounds("closed", &id).pop().or_else(may_have_run));
    let state = end["closed"]["state"].as_str().unwrap_or("sent").to_owned();
    println!("ask-answer ended with {answered}, the round is {state}");
    match state.as_str() {
        "delivered" => assert!(answered == 0 && session.receipts().len() == 1),
        "sent" => assert_eq!(answered, 0),
        "superseded" => assert!(session.receipts().is_empty()),
        "withdrawn" => assert!(answered != 0 && session.receipts().is_empty()),
        other => panic!("{other}"),
    }
    until("the file is there only if the answer counted", || match state.as_str() {
        "delivered" => made(&world, "one") || cut().is_some(),
        "sent" => true,
        _ => !made(&world, "one"),
    });
    assert!(world.names("pending").is_empty() && world.names("answered").is_empty());
}

#[test]
fn a_background_agent_gets_its_dialog_when_the_hold_is_over() {
    let world = world();
    world.api.on("Sub work.", json!([touch("sub"), {"text": "sub is done"}]));
    let session = Attended::begin(&world);
    let input = json!({"description": "work", "prompt": "Sub work.", "subagent_type": "general-purpose"});
    session.goes(&[json!({"tool": "Agent", "input": input})]);
    let id = super::only_question(&world);
    let end = closed(&world, &id, "withdrawn");
    assert!(end["closed"]["why"].as_str().is_some_and(|why| why.contains("nobody answered in time")), "{end}");
    session.terminal.see(super::DIALOG);
}

mod promises {
    use super::*;

    #[test]
    fn yes_at_the_terminal_withdraws_the_question() {
        ended_by_and_then(touch("one"), &["1"], |world| until("the file is made", || made(world, "one")));
    }
}
