//! `claude -p` of a user, which knows no tasks.

use serde_json::json;

use super::{call, find, servers, which_database};
use crate::support::{ClaudeWorld, until};

/// The result of the model's last call, in a session of a user with the server. `meanwhile` runs beside it.
fn told(world: &ClaudeWorld, steps: &serde_json::Value, meanwhile: impl FnOnce() + Send) -> String {
    let args = ["--mcp-config", &servers(), "--allowedTools=mcp__askbox"];
    std::thread::scope(|scope| {
        scope.spawn(meanwhile);
        world.prompt_stream(&format!("@@{steps}"), &args).ok();
    });
    world.api.turns().last().expect("a turn").tool_results().pop().expect("a result")
}

#[test]
fn a_headless_answer_in_time_is_the_tools_result() {
    let mut world = ClaudeWorld::new();
    world.configure("[mcp]\nwait = \"10m\"");
    world.keep_watching_from_the_start();
    let steps = json!([find(&["ask_user"]), call("ask_user", &which_database()), {"text": "done"}]);
    let answer = || {
        until("the question", || world.in_mailbox("pending/db.json").exists());
        world.sh("ask-answer db pg");
    };
    let said = told(&world, &steps, answer);
    assert!(said.starts_with("Your question \"Which database?\": User chose: pg (Postgres)"), "{said}");
    assert_eq!((world.api.turns().len(), world.launches().len()), (3, 0));
    assert_eq!(world.closed("db", "delivered", 1)[0]["closed"]["by"], "its asker");
}

#[test]
fn after_a_turn_without_an_answer_an_agent_goes_on() {
    let mut world = ClaudeWorld::new();
    world.configure("[mcp]\nwait = \"0s\"");
    world.keep_watching_from_the_start();
    let state = json!({"workflow_id": "db", "checkpoint": {"next_action": "make the tables"}});
    let steps = json!([find(&["ask_user", "save_checkpoint"]), call("ask_user", &which_database()), call("save_checkpoint", &state), {"text": "ended"}]);
    let said = told(&world, &steps, || ());
    assert!(said.starts_with("saved: "), "{said}");
    let requests = world.api.turns().len();
    assert!(world.api.turns()[2].tool_results().concat().contains("QUESTION_POSTED:db"));
    world.api.on("User chose: lite", json!([{"text": "made"}]));
    world.answer("db", "lite");
    assert_eq!(world.wait_state("db", "delivered")["result"], "made");
    assert_eq!((world.api.turns().len(), world.launches().len()), (requests + 1, 1), "no request while it waited");
}
