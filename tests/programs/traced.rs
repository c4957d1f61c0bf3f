//! The trace of an asker in its question: kept, or left out with a warning, and never a reason to refuse.

use std::process::Command;

use crate::support::{Outcome, World, feed, output};

const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

fn in_trace(world: &World, parent: &str, state: &str) -> Command {
    let mut command = world.command("ask-post");
    command.env("TRACEPARENT", parent).env("TRACESTATE", state);
    command
}

#[test]
fn a_malformed_trace_is_left_out_with_a_warning() {
    let world = World::new();
    let warns = |outcome: &Outcome, words: &str| {
        assert_eq!(outcome.code(), 0, "{}", outcome.words());
        assert!(outcome.stderr.contains(&format!("warning: {words} is not as W3C Trace Context spells it")), "{}", outcome.words());
    };
    for (n, wrong) in ["x", "00-0-0-01", &PARENT.to_uppercase(), "\u{1b}[31m", &PARENT.replace("00-", "ff-")].iter().enumerate() {
        let workflow = format!("docs-{n}");
        warns(&output(in_trace(&world, wrong, "rojo=1").args(["-w", &workflow, "Merge?"])), "$TRACEPARENT");
        assert!(world.document(&format!("pending/{workflow}.json")).get("trace").is_none());
    }
    let outcome = output(in_trace(&world, PARENT, "=").args(["-w", "state", "Merge?"])).ok();
    assert!(!outcome.stderr.contains("W3C"), "{}", outcome.stderr);
    assert_eq!(world.document("pending/state.json")["trace"], serde_json::json!({"traceparent": PARENT}));
    for (n, wrong) in ["7", "{}", r#"{"traceparent": "x"}"#].iter().enumerate() {
        let file = format!(r#"{{"workflow_id": "file-{n}", "question": "Merge?", "trace": {wrong}}}"#);
        warns(&world.run_with("ask-post", &["--file", "-"], file.as_bytes()), "the document's `trace`");
    }
    // Nor is a file of another program invalid.
    std::fs::write(world.in_mailbox("pending/hand.json"), r#"{"workflow_id": "hand", "question": "Merge?", "trace": [1e999]}"#).unwrap();
    world.ok("ask-answer", &["hand", "yes"]);
    assert_eq!(world.state("hand"), "answered");
}

mod promises {
    use super::*;

    #[test]
    fn a_question_keeps_the_trace_of_its_asker() {
        let world = World::new();
        assert_eq!(output(in_trace(&world, PARENT, "rojo=1").args(["-w", "docs", "Merge?"])).words().matches("warning: $TRACE").count(), 0);
        let kept = world.document("pending/docs.json");
        assert_eq!(kept["trace"], serde_json::json!({"traceparent": PARENT, "tracestate": "rojo=1"}));
        // The document's own trace counts before the environment's.
        let own = PARENT.replace("4bf9", "5bf9");
        let file = serde_json::json!({"workflow_id": "own", "question": "Merge?", "trace": {"traceparent": own, "later": 1}}).to_string();
        feed(in_trace(&world, PARENT, "").args(["--file", "-"]), file.as_bytes()).ok();
        assert_eq!(world.document("pending/own.json")["trace"], serde_json::json!({"traceparent": own, "later": 1}));
        // The same question in another trace is the same question.
        let again = output(in_trace(&world, &own, "").args(["-w", "docs", "Merge?", "--json"])).ok();
        assert_eq!(again.json()["repeated"], true);
    }
}
