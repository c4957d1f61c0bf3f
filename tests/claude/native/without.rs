//! Where a call of AskUserQuestion cannot wait in its session: the question and its answer find another way, or none.

use serde_json::json;

use crate::claude::native::asking::{ask, question, run_that_asks, which_database};
use crate::support::{ClaudeWorld, feed};

#[test]
fn an_operators_own_settings_mean_no_hook_but_a_hint() {
    let mut world = ClaudeWorld::new();
    world.configure("[runner.claude]\nargs = [\"--settings\", \"{}\"]\n");
    world.keep_watching_from_the_start();
    world.ask("w", &["Begin?"]);
    world.api.on("User chose: begin", json!([ask(&which_database())]));
    world.answer("w", "begin");
    let status = world.wait_state("w", "delivered");
    assert!(status["result"].as_str().is_some_and(|r| r.contains("Ask with `ask-post")), "{status}");
    assert!(world.names("pending").is_empty());
}

/// If a version of Claude Code offers it one day, `askbox hook` refuses the call with words that name `ask-post`: a subagent's call cannot wait.
#[test]
fn a_subagents_call_of_the_question_tool_reaches_nobody() {
    let mut world = ClaudeWorld::new();
    world.keep_watching_from_the_start();
    world.ask("w", &["Begin?"]);
    world.api.on("Sub work.", json!([ask(&which_database()), {"text": "could not"}]));
    let input = json!({"description": "work", "prompt": "Sub work.", "subagent_type": "general-purpose"});
    world.api.on("User chose: begin", json!([{"tool": "Agent", "input": input}, {"text": "heard"}]));
    world.answer("w", "begin");
    assert_eq!(world.wait_state("w", "delivered")["result"], "heard");
    let turns = world.api.turns();
    let (of_session, of_subagent): (Vec<_>, Vec<_>) = turns.iter().partition(|turn| turn.model_text().contains("User chose: begin"));
    let is_offered = |tools: Vec<String>| tools.iter().any(|tool| tool == "AskUserQuestion");
    assert!(of_session.iter().all(|turn| is_offered(turn.tools())) && of_subagent.len() == 2, "{turns:#?}");
    assert!(!of_subagent.iter().any(|turn| is_offered(turn.tools())), "a subagent is offered it");
    let said: String = of_subagent.iter().flat_map(|turn| turn.tool_results()).collect();
    assert!(said.contains("not available inside subagents") || said.contains("No such tool available"), "{said}");
    assert!(world.names("pending").is_empty() && world.rounds("closed", "w").len() == 1);
}

#[test]
fn a_users_session_inside_of_a_run_asks_nothing_for_it() {
    let world = ClaudeWorld::new();
    world.make_mailbox();
    let event = r#"{"session_id":"s","hook_event_name":"PreToolUse","tool_name":"AskUserQuestion","tool_use_id":"t","tool_input":{"questions":[]}}"#;
    let silent = |env: &[(&str, &str)], event: &str| {
        let outcome = feed(world.command("askbox").arg("hook").envs(env.iter().copied()), event.as_bytes());
        assert_eq!((outcome.status.code(), outcome.stdout.as_str(), outcome.stderr.as_str()), (Some(0), "", ""), "{outcome:?}");
    };
    silent(&[], event);
    silent(&[], "no JSON at all");
    let run = "w/01a20605-3431-7298-8d9f-05f18633a3ef/1";
    silent(&[("ASKBOX_RUN", run), ("ASKBOX_NONCE", "01a20535-7c1c-40f4-93d9-68b4a24a55aa")], event);
    silent(&[("ASKBOX_RUN", "nonsense")], event);
    assert!(world.names("pending").is_empty());
}

#[test]
fn a_question_that_cannot_be_posted_is_refused() {
    let mut world = ClaudeWorld::new();
    world.keep_watching_from_the_start();
    world.ask("w", &["Begin?"]);
    let long = "Which database? ".repeat(80_000);
    world.api.on("User chose: begin", json!([ask(&json!([question(&long, false, &["SQLite", "Postgres"])]))]));
    world.answer("w", "begin");
    let status = world.wait_state("w", "delivered");
    assert!(status["result"].as_str().is_some_and(|r| r.contains("askbox could not take this question")), "{status}");
    assert!(world.names("pending").is_empty());
}

mod promises {
    use super::*;

    #[test]
    fn an_answer_to_a_lost_transcript_comes_in_a_message() {
        let world = run_that_asks(&json!([ask(&which_database()), {"text": "never said"}]));
        let session = world.document("pending/w.json")["session_id"].as_str().expect("a session").to_owned();
        std::fs::remove_file(world.transcript_of(&session).expect("a transcript")).expect("it was there");
        world.api.on("User chose: SQLite", json!([{"text": "built anew"}]));
        world.answer("w", "SQLite");
        assert_eq!(world.wait_state("w", "delivered")["result"], "built anew");
        let said = world.api.requests_with_text("User chose: SQLite")[0].model_text();
        assert!(said.contains("Question that was asked: Which database?"), "{said}");
    }
}
