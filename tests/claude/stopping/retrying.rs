//! `relaunch run` without a watcher and an API that is overloaded for longer than the agent tries.

use super::*;
use crate::support::claude::version::needs_claude;
use serde_json::json;

const CONTINUE: &str = "Your process was interrupted";
const CONFIG: &str = "[relaunch]\nbackoff = '200ms'\n[runner.claude]\nallowed_tools = ['Bash']\nenv = { CLAUDE_CODE_MAX_RETRIES = '0' }\n";

#[test]
fn a_task_that_no_model_has_answered_is_begun_anew() {
    needs_claude!(SameRequestAfterRefusal);
    let world = ClaudeWorld::new();
    world.configure(CONFIG);
    let steps = json!([{"status": 529, "times": 3, "every_session": true}, {"text": "through"}]);
    let outcome = crate::support::output(task(&world, "w", &steps).stdin(Stdio::null())).ok();
    assert_eq!(outcome.result()["text"], "through", "{outcome:?}");
    let status = world.status("w");
    assert_eq!((&status["state"], &status["attempt"], &status["result"]), (&json!("delivered"), &json!(4), &json!("through")));
    assert_eq!(world.launches().len(), 4);
    let throttled = outcome.events().into_iter().filter(|e| e["type"] == "result" && e["is_error"] == true).count();
    assert_eq!(throttled, 3, "each attempt is shown: {outcome:?}");
    let turns = world.api.turns();
    assert_eq!(turns.len(), 4);
    for turn in turns {
        let text = turn.model_text();
        assert_eq!((text.matches("The task of the walnut").count(), text.matches(CONTINUE).count()), (1, 0), "{text}");
    }
    assert!(!outcome.stdout.contains("answer already"), "{outcome:?}");
}

#[test]
fn a_run_refused_after_its_work_is_told_once_to_continue() {
    needs_claude!(SameRequestAfterRefusal);
    let world = ClaudeWorld::new();
    world.configure(CONFIG);
    let through = json!([{"status": 529, "times": 3}, bash("echo the almond"), {"text": "through"}]);
    world.api.on(CONTINUE, through);
    let steps = json!([bash("echo the pecan"), {"status": 529}, {"text": "not reached"}]);
    let outcome = crate::support::output(task(&world, "w", &steps).stdin(Stdio::null())).ok();
    assert_eq!(outcome.result()["text"], "through", "{outcome:?}");
    let status = world.status("w");
    assert_eq!((&status["state"], &status["attempt"]), (&json!("delivered"), &json!(5)), "{status}");
    let turns = world.api.turns();
    let continued = turns.iter().filter(|turn| turn.model_text().contains(CONTINUE));
    assert_eq!(continued.clone().count(), 5, "three refusals and two answers");
    for turn in continued {
        let text = turn.model_text();
        assert_eq!((text.matches(CONTINUE).count(), text.matches("The task of the walnut").count()), (1, 1), "{text}");
        assert!(turn.tool_results().contains(&"the pecan".into()), "its work is there: {text}");
    }
    let notes = world.notes("w").join("\n");
    assert!(notes.contains("it is told to continue") && !notes.contains("answer"), "{notes}");

    // The session goes on from the message that was answered, and does not bring the others back.
    world.api.on("User chose: yes", json!([{"text": "again"}]));
    world.ask("w", &["Once more?"]);
    world.answer("w", "yes");
    world.run("relaunch", &["w"]).ok();
    let last = world.api.requests_with_text("User chose: yes").pop().expect("a turn");
    assert_eq!(last.model_text().matches(CONTINUE).count(), 1, "{}", last.model_text());
    assert!(last.tool_results().contains(&"the almond".into()), "{}", last.model_text());
}
