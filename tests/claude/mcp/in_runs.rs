//! In a run of askbox the call ends the run, and has the answer as its own result when the run goes on.

use serde_json::{Value, json};

use super::{call, find};
use crate::support::{ClaudeWorld, program};

/// A run of `w` that goes through these steps, until it has ended and `w` asks.
#[track_caller]
fn run_that_asks(steps: &Value) -> ClaudeWorld {
    let mut world = ClaudeWorld::new();
    let servers = json!({"mcpServers": {"askbox": {"command": program("askbox"), "args": ["mcp"]}}}).to_string();
    world.configure(&format!("[runner.claude]\nargs = [\"--mcp-config\", {servers:?}]\nallowed_tools = [\"mcp__askbox\"]"));
    world.keep_watching_from_the_start();
    world.ask("w", &["Begin?"]);
    world.api.on("User chose: begin", steps.clone());
    world.answer("w", "begin");
    world.wait_status("w", "asking", |s| s["state"] == "pending" && world.names("running").is_empty());
    world
}

fn which() -> Value {
    json!({"question": "Which database?", "options": [{"label": "pg", "description": "Postgres"}, {"label": "lite"}]})
}

#[test]
fn a_refusal_and_a_counter_question_reach_the_model() {
    for (script, expected) in [
        ("ask-answer decline w --note 'ask the DBA'", ["The user declined to answer", "ask the DBA"]),
        ("ask-answer ask-back w 'How many users?'", ["The user asks back", "How many users?"]),
    ] {
        let world = run_that_asks(&json!([find(&["ask_user"]), call("ask_user", &which()), {"text": "left it"}]));
        world.sh(script);
        world.wait_state("w", "delivered");
        let told = world.api.turns().last().expect("a turn").tool_results().pop().expect("a result");
        assert!(expected.iter().all(|words| told.contains(words)), "{script}: {told}");
    }
}

mod promises {
    use super::*;

    #[test]
    fn the_answer_is_the_calls_result_after_a_watchers_restart() {
        let mut world = run_that_asks(&json!([find(&["ask_user"]), call("ask_user", &which()), {"text": "built"}]));
        assert_eq!(world.document("pending/w.json")["tool_call"]["name"], "mcp__askbox__ask_user");
        world.stop_watching();
        let requests = world.api.turns().len();
        world.keep_watching();
        assert_eq!((world.api.turns().len(), world.launches().len()), (requests, 1), "nothing is launched or requested while it waits");
        world.answer("w", "lite");
        assert_eq!(world.wait_state("w", "delivered")["result"], "built");
        let told = world.api.turns().last().expect("a turn").tool_results().pop().expect("a result");
        assert!(told.starts_with("Your question \"Which database?\": User chose: lite\n(answered by ann"), "{told}");
        assert_eq!((world.api.turns().len(), world.launches().len()), (requests + 1, 2));
        assert_eq!(world.names("pending").len(), 0, "one question, once");
    }
}
