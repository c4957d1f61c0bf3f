//! A user's session asks and ends; a fresh session continues from its checkpoint.

use crate::support::claude::bash;
use crate::support::{ClaudeWorld, LIMIT};
use serde_json::json;
use std::time::Instant;

#[test]
fn a_second_round_starts_only_after_the_first_run_has_ended() {
    let mut world = ClaudeWorld::new();
    world.configure("[runner.claude]\nallowed_tools = ['Bash(ask-post:*)', 'Bash(checkpoint:*)', 'Bash(hold:*)']\n");
    world.add_hold("hold");
    world.run_with("checkpoint", &["save", "two"], b"{\"current_step\":\"one\"}").ok();
    let first = world.ask("two", &["First?"]);
    world.api.on("User chose: alpha", json!([bash("ask-post 'Second?'"), bash("hold"), {"text": "one done"}]));
    world.api.on("User chose: beta", json!([{"text": "two done"}]));
    world.keep_watching();
    world.answer("two", "alpha");
    world.api.wait_for_text("QUESTION_POSTED:two", 1, LIMIT);
    assert_eq!(world.names("pending"), ["two.json"]);
    // The run of the first round is live: its answer waits.
    world.answer("two", "beta");
    let refused = world.run("relaunch", &["two"]);
    assert_eq!(refused.status.code(), Some(4), "{refused:?}");
    assert!(refused.stderr.contains("is being delivered"), "{refused:?}");
    assert_eq!(world.status("two")["state"], "running");
    assert_eq!(world.launches().len(), 1);
    world.release("hold");

    let status = world.wait_status("two", "delivered twice", |s| s["state"] == "delivered" && s["result"] == "two done");
    let second = status["question_id"].as_str().expect("a round").to_owned();
    assert_ne!(first, second);
    assert_eq!(world.launches().len(), 2);
    assert_eq!(world.names("closed").len(), 2);
    let (one, two) = (world.run_record("two", &first, 1), world.run_record("two", &second, 1));
    assert_eq!((&one["result"], &two["result"]), (&json!("one done"), &json!("two done")));
    assert!(one["ended_at"].as_str() <= two["claimed_at"].as_str(), "{one} {two}");
    let request = &world.api.requests_with_text("User chose: beta")[0];
    let told = request.model_text();
    assert!(told.contains("Question that was asked: Second?") && !told.contains("User chose: alpha"), "{told}");
    assert!(told.contains("\n> First?\nThe answer was: alpha\n"), "{told}");
    assert_eq!(world.document("checkpoints/two.json")["user_answer"], "beta");
}

mod promises {
    use super::*;

    #[test]
    fn a_session_that_asked_is_relaunched_once_with_the_answer() {
        let mut world = ClaudeWorld::new();
        let save = "checkpoint save docs-1 --step review --completed draft --pending publish --next-action 'apply the choice'";
        let ask = "ask-post 'The sections overlap. How should we proceed?' -w docs-1 -o merge='Merge into one' -o keep='Keep both'";
        let outcome = world.user_session(&json!([bash(save), bash(ask), {"text": "I have asked."}]));
        let first = outcome.result()["session_id"].clone();
        let results = world.api.turns().pop().expect("a turn").tool_results();
        assert!(results[1].contains("QUESTION_POSTED:docs-1"), "{results:?}");
        assert_eq!(world.status("docs-1")["state"], "pending");

        world.api.on("User chose: merge", json!([bash("checkpoint get docs-1 user_answer"), {"text": "Merged them."}]));
        world.keep_watching();
        world.answer("docs-1", "merge");
        let answered = Instant::now();
        let request = world.api.wait_for_text("User chose: merge", 1, LIMIT);
        let took = request.at.duration_since(answered);
        let status = world.wait_state("docs-1", "delivered");

        let told = request.model_text();
        let checkpoint = world.in_mailbox("checkpoints/docs-1.json");
        for part in [
            format!("Resume workflow from checkpoint at {}.", checkpoint.display()),
            "Workflow: docs-1. Question that was asked: The sections overlap. How should we proceed?".into(),
            "User chose: merge (Merge into one)".into(),
        ] {
            assert!(told.contains(&part), "{part:?} is missing in {told}");
        }
        // The checkpoint is there for the new session, with the answer in it.
        let last = world.api.turns().pop().expect("a turn");
        assert_eq!(last.tool_results(), ["merge"]);
        assert_eq!(world.document("checkpoints/docs-1.json")["current_step"], "review");

        let launches = world.launches();
        assert_eq!(launches.len(), 1, "{launches:#?}");
        let session = status["session_id"].as_str().expect("a session");
        assert!(launches[0].args.contains(&format!("--session-id={session}")));
        assert_eq!(request.session_id().as_deref(), Some(session));
        assert_ne!(first, session);
        assert_eq!(status["result"], "Merged them.");
        let round = status["question_id"].as_str().expect("a round");
        assert_eq!(world.names("closed"), [format!("docs-1.{round}.json")]);
        for folder in ["pending", "answered", "running", "parked"] {
            assert!(world.names(folder).is_empty(), "{folder}: {:?}", world.names(folder));
        }
        let record = world.run_record("docs-1", round, 1);
        assert_eq!((&record["state"], &record["result"]), (&json!("delivered"), &json!("Merged them.")));

        let answer = world.document(&format!("closed/docs-1.{round}.json"));
        eprintln!(
            "from the answer to the agent's first request: {took:?}; answered {}, claimed {}, launched {}",
            answer["answer"]["at"], record["claimed_at"], record["started_at"]
        );
        // What it costs beside the agent's own start is milliseconds; this only says that nothing slept in between.
        assert!(took < LIMIT / 2, "{took:?}");
    }

    #[test]
    fn a_workflow_id_that_only_the_environment_knows_is_enough() {
        let mut world = ClaudeWorld::new();
        let steps = json!([bash("checkpoint save --step one --next-action two"), bash("ask-post 'Go on?' -t yes_no"), {"text": "asked"}]);
        world.user_session_with(&steps, &[("WORKFLOW_ID", "env-7")]);
        assert_eq!(world.names("pending"), ["env-7.json"]);
        world.keep_watching();
        // In the relaunched session too, nothing but the environment says it.
        world.api.on("User chose: yes", json!([bash("checkpoint env"), bash("ask-post 'And now?'"), {"text": "asked again"}]));
        world.answer("env-7", "yes");
        let status = world.wait_status("env-7", "asking again", |s| s["state"] == "pending" && s["question"] == "And now?");
        assert_eq!(status["state"], "pending");
        let results = world.api.turns().pop().expect("a turn").tool_results();
        assert!(results[0].contains("USER_ANSWER=yes"), "{results:?}");
        assert_eq!(results[1], "QUESTION_POSTED:env-7");
        assert_eq!(world.launches().len(), 1);
    }
}
