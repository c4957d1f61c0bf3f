//! A dialog that is answered in the mailbox while it is open at the terminal.

use serde_json::json;

use super::{Attended, DIALOG, closed, made, only_question, touch, which_database, world};

#[test]
fn a_call_that_is_refused_in_the_mailbox_tells_the_model_why() {
    let world = world();
    let session = Attended::begin(&world);
    session.goes(&[touch("one")]);
    let id = session.asks();
    world.ok("ask-answer", &["decline", &id, "--note", "use another name"]);
    let told = session.told();
    assert!(told.contains("The user refused this call.") && told.contains("use another name"), "{told}");
    closed(&world, &id, "delivered");
    assert!(!made(&world, "one"));
}

#[test]
fn a_refusal_with_a_stop_ends_the_sessions_turn() {
    let world = world();
    let session = Attended::begin(&world);
    session.goes(&[touch("one")]);
    let id = session.asks();
    let turns = world.api.turns().len();
    world.ok("ask-answer", &["decline", &id, "--stop"]);
    closed(&world, &id, "delivered");
    session.terminal.see("Interrupted");
    assert_eq!(world.api.turns().len(), turns, "the model was told nothing");
    assert!(!made(&world, "one"));
}

#[test]
fn a_call_that_is_edited_in_the_mailbox_is_made_as_edited() {
    let world = world();
    let session = Attended::begin(&world);
    session.goes(&[touch("one")]);
    let id = session.asks();
    std::fs::write(world.path("edited"), "touch two").expect("the new command");
    world.ok("ask-answer", &["edit", &id, "--input", &world.path("edited").display().to_string(), "--round", &world.seen(&id)]);
    session.told();
    closed(&world, &id, "delivered");
    assert!(made(&world, "two") && !made(&world, "one"));
    let read = world.api.turns().pop().expect("a turn").model_text();
    assert!(read.contains("Your user changed this call of Bash") && read.contains("but this: touch two"), "{read}");
}

#[test]
fn a_remark_beside_an_allowance_reaches_the_model() {
    let world = world();
    let session = Attended::begin(&world);
    session.goes(&[touch("one")]);
    let id = session.asks();
    world.ok("ask-answer", &[&id, "once", "--note", "this once", "--round", &world.seen(&id)]);
    session.told();
    closed(&world, &id, "delivered");
    let read = world.api.turns().pop().expect("a turn").model_text();
    assert!(read.contains("Your user allowed this call of Bash, and says: this once"), "{read}");
}

#[test]
fn a_suggestion_of_the_dialog_counts_for_the_session() {
    let world = world();
    let session = Attended::begin(&world);
    let write = |file: &str| json!({"tool": "Write", "input": {"file_path": world.work().join(file), "content": "text"}});
    session.goes(&[write("one"), write("two")]);
    let id = session.asks();
    let options = world.document(&format!("pending/{id}.json"))["options"].clone();
    assert!(options["accept-edits"].is_string(), "{options}");
    world.answer(&id, "accept-edits");
    session.told();
    assert!(made(&world, "one") && made(&world, "two"), "the second one was not asked about");
    closed(&world, &id, "delivered");
    assert!(world.names("pending").is_empty());
    assert!(!world.work().join(".claude/settings.local.json").exists(), "no file is changed");
}

#[test]
fn several_questions_take_lists_and_notes_from_the_mailbox() {
    let world = world();
    let session = Attended::begin(&world);
    let options = json!([{"label": "A", "description": ""}, {"label": "B", "description": ""}, {"label": "C", "description": ""}]);
    let questions = json!([
        {"question": "Which features?", "header": "F", "multiSelect": true, "options": options},
        {"question": "Which one first?", "header": "O", "multiSelect": false, "options": options},
    ]);
    session.goes(&[json!({"tool": "AskUserQuestion", "input": {"questions": questions}})]);
    let id = session.asks();
    world.ok("ask-answer", &[&id, "q1=A,C", "q2=B", "--note", "q2: soon"]);
    let said = session.told();
    assert!(said.contains("\"Which features?\"=\"A, C\"") && said.contains("\"Which one first?\"=\"B\""), "{said}");
    assert!(said.contains("soon"), "{said}");
    closed(&world, &id, "delivered");
}

#[test]
fn a_question_that_is_declined_is_not_guessed() {
    let world = world();
    let session = Attended::begin(&world);
    session.goes(&[which_database()]);
    let id = session.asks();
    world.ok("ask-answer", &["decline", &id, "--note", "not mine to say"]);
    let said = session.told();
    assert!(said.contains("The user declined to answer.") && said.contains("not mine to say"), "{said}");
    closed(&world, &id, "delivered");
}

const PLAN: &str = "# Plan\n\nBuild it.\n";

#[test]
fn a_plan_is_sent_back_with_words() {
    let world = world();
    let session = Attended::begin_with_plan(&world, PLAN, &[]);
    let id = only_question(&world);
    world.ok("ask-answer", &["decline", &id, "--note", "test it first"]);
    let said = session.told();
    assert!(said.contains("test it first"), "{said}");
    closed(&world, &id, "delivered");
}

#[test]
fn a_background_agent_is_answered_though_no_dialog_is_open() {
    let world = world();
    world.reconfigure("20s", "1h");
    world.api.on("Sub work.", json!([touch("sub"), {"text": "sub is done"}]));
    let session = Attended::begin(&world);
    let input = json!({"description": "work", "prompt": "Sub work.", "subagent_type": "general-purpose"});
    session.goes(&[json!({"tool": "Agent", "input": input})]);
    let id = only_question(&world);
    let asked = world.document(&format!("pending/{id}.json"));
    assert_eq!((&asked["live"]["in_background"], &asked["live"]["agent"]), (&json!(true), &json!("general-purpose")));
    assert!(!session.terminal.screen().contains(DIALOG));
    world.answer(&id, "once");
    closed(&world, &id, "delivered");
    crate::support::until("the file is made", || made(&world, "sub"));
}

#[test]
fn the_agent_of_a_session_does_not_answer_its_own_dialog() {
    let world = world();
    let session = Attended::begin(&world);
    session.goes(&[touch("one")]);
    let id = session.asks();
    let round = world.round(&id);
    // The mark of Claude Code in the environment makes the command an agent's.
    let refused =
        world.any_command(crate::support::program("ask-answer")).args([&id, "once", "--round", &round]).env("CLAUDECODE", "1").output();
    let refused = refused.expect("it runs");
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && said.contains("no agent may answer that"), "{said}");
    session.ends_dialog(&["Escape"]);
    closed(&world, &id, "withdrawn");
}

mod promises {
    use super::*;

    #[test]
    fn a_call_that_is_allowed_in_the_mailbox_is_made() {
        let world = world();
        let session = Attended::begin(&world);
        session.goes(&[touch("one")]);
        let id = session.asks();
        let asked = world.document(&format!("pending/{id}.json"));
        assert!(asked["question"].as_str().is_some_and(|q| q.contains("touch one")), "{asked}");
        assert_eq!((&asked["live"]["session"], &asked["live"]["project"]), (&json!(session.session), &json!("work")));
        assert!(!made(&world, "one"), "nobody has allowed it");
        world.answer(&id, "once");
        session.told();
        let end = closed(&world, &id, "delivered");
        assert!(made(&world, "one"));
        let receipts = session.receipts();
        assert_eq!(receipts.len(), 1, "{receipts:?}");
        // A busy session may tell the id of its call only after the question was posted.
        let call = &end["tool_call"]["id"];
        assert!(receipts[0]["toolUseID"] == *call || call.as_str().is_some_and(|id| id.starts_with("not-told-")), "{receipts:?} {end}");
        world.audit_is(&id, &["posted", "answered", "claimed", "allowed", "delivered"]);
    }

    #[test]
    fn a_question_of_the_agent_takes_an_option_or_own_words() {
        for (words, told) in
            [("Postgres", "\"Which database?\"=\"Postgres\""), ("DuckDB, please", "\"Which database?\"=\"DuckDB, please\"")]
        {
            let world = world();
            let session = Attended::begin(&world);
            session.goes(&[which_database()]);
            let id = session.asks();
            world.ok("ask-answer", &[&id, words]);
            let said = session.told();
            assert!(said.contains(told), "{said}");
            closed(&world, &id, "delivered");
        }
    }

    #[test]
    fn a_plan_is_approved_in_the_mailbox() {
        let world = world();
        let session = Attended::begin_with_plan(&world, PLAN, &[]);
        let id = only_question(&world);
        let asked = world.document(&format!("pending/{id}.json"));
        assert_eq!(asked["context"], PLAN, "{asked}");
        world.answer(&id, "once");
        let said = session.told();
        assert!(said.contains("User has approved your plan"), "{said}");
        closed(&world, &id, "delivered");
    }
}
