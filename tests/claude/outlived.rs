//! A waiting `ask-post` outlives its agent, because the output of the agent's Bash goes to a file. It takes no answer then.

use crate::support::claude::bash;
use crate::support::process::{is_alive, until};
use crate::support::{ClaudeWorld, LIMIT, Signal, asleep, signal};
use serde_json::json;

const WAITS: &str = "ask-post 'Ship it?' -w ship -t yes_no --wait 50s";

/// The one `ask-post` that waits.
#[track_caller]
fn waiting(world: &ClaudeWorld) -> i32 {
    until("a waiting ask-post", || world.names("pending") == ["ship.json"]);
    let waiting = until("its process", || {
        let found = world.processes("ask-post Ship it?");
        (found.len() == 1).then(|| found[0])
    });
    asleep(waiting);
    waiting
}

mod promises {
    use super::*;

    #[test]
    fn a_wait_that_outlives_its_agent_leaves_the_answer() {
        let mut world = ClaudeWorld::new();
        world.keep_watching_from_the_start();
        world.api.on("Do the work", json!([bash(WAITS), {"text": "never said"}]));
        world.api.on("User chose: yes", json!([{"text": "shipped"}]));
        let mut session = world.claude();
        session.args(["-p", "Do the work", "--allowedTools=Bash(ask-post:*)"]);
        let mut session = session.stdin(std::process::Stdio::null()).spawn().expect("the real claude");
        let waits = waiting(&world);
        assert!(is_alive(waits));
        signal(i32::try_from(session.id()).expect("a pid"), Signal::KILL);
        session.wait().expect("an end");
        world.answer("ship", "yes");
        world.api.wait_for_text("User chose: yes", 1, LIMIT);
        let status = world.wait_state("ship", "delivered");
        assert_eq!((&status["result"], world.launches().len()), (&json!("shipped"), 1), "{}", world.describe("ship"));
        until("the end of the orphan", || !is_alive(waits));
    }
}
