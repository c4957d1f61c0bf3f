//! The second rung of the ladder: an agent that writes text is interrupted over its input.

use super::*;
use crate::support::LIMIT;
use serde_json::json;

fn slow(text: &str) -> Value {
    json!({"text": "First.", "slow_text": text.repeat(40), "chunks": 200, "chunk_ms": 500})
}

#[test]
fn a_stop_before_the_first_word_is_an_interrupt_too() {
    let world = world();
    let mut run = start(&world, "w", &json!([{"stall": true}]));
    run.expect_type("started");
    world.api.wait_for(|log| log.iter().any(|r| r.is_turn()), LIMIT);
    stop(&world, "w", &[]);
    let (_, events) = run.wait_end();
    climbed(&events, &["boundary", "in-band"]);
    interrupted(&events);
    assert_eq!(world.status("w")["state"], "interrupted");
}

#[test]
fn a_stop_while_the_agent_is_still_starting_is_not_lost() {
    let world = world();
    let run = start(&world, "w", &json!([slow("walnuts are "), {"text": "never"}]));
    world.wait_status("w", "running", |s| s["state"] == "running");
    stop(&world, "w", &[]);
    let (_, events) = run.wait_end();
    interrupted(&events);
    assert!(!events.iter().any(|e| e["type"] == "result" && e["terminal_reason"] == "completed"), "{events:#?}");
    // Whether or not its session began: the task goes on and is not told twice.
    world.api.on("Continue where you left off", json!([{"text": "done"}]));
    world.api.on("The task of the walnut.", json!([{"text": "done"}]));
    world.run("relaunch", &["w"]).ok();
    let text = world.api.turns().pop().expect("a turn").model_text();
    assert_eq!(text.matches("The task of the walnut.").count(), 1, "{text}");
}

#[test]
fn an_agent_that_has_ended_by_itself_is_not_called_stopped() {
    let world = world();
    world.run_with("relaunch", &["run", "-w", "w", "-"], b"@@[{\"text\":\"done\"}]").ok();
    let late = world.run("relaunch", &["stop", "w"]);
    assert_eq!(late.status.code(), Some(4), "{late:?}");
    assert_eq!(world.status("w")["state"], "delivered");
}

mod promises {
    use super::*;

    #[test]
    fn a_stop_in_the_middle_of_a_text_keeps_what_was_said() {
        let world = world();
        let mut run = start(&world, "w", &json!([slow("walnuts are "), {"text": "never"}]));
        // Behind the first block the second one comes, a few letters at a time.
        run.expect_type("text");
        let mut words = String::new();
        while !words.contains("walnuts are") {
            words += run.expect_type("partial")["text"].as_str().expect("a text");
        }
        let said = stop(&world, "w", &["--json"]);
        let (_, events) = run.wait_end();
        climbed(&events, &["boundary", "in-band"]);
        let last = interrupted(&events);
        let text = last["text"].as_str().expect("a text");
        assert!(text.starts_with("First.") && text.contains("walnuts") && text.len() < 12 * 40, "{last:#}");
        assert_eq!(said.events(), std::slice::from_ref(&last));
        let result = events.iter().rev().find(|e| e["type"] == "result").expect("a result");
        assert_eq!(result["terminal_reason"], "aborted_streaming");
        let session = last["session_id"].as_str().expect("a session").to_owned();
        assert_eq!(alive(&world, &groups(&world)), [""; 0]);
        let told = continues(&world, "w", &session, json!([{"text": "done"}]));
        assert!(told.assistant_text().contains("walnuts are"), "{}", told.assistant_text());
    }
}
