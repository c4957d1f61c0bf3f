//! A waiting `ask-post` outlives its agent, because the output of the agent's Bash goes to a file. It takes no answer then.

use crate::support::claude::bash;
use crate::support::process::{is_alive, until};
use crate::support::{ClaudeWorld, LIMIT, Signal, asleep, signal};
use serde_json::json;
use std::process::{Child, Stdio};
use std::time::Duration;

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

/// A session of a user whose agent asks in workflow `id`, waits, and says what it heard.
fn session_that_waits(world: &ClaudeWorld, id: &str) -> Child {
    world.api.on(&format!("Do {id}."), json!([bash(&format!("ask-post 'Ship it?' -w {id} -t yes_no --wait 50s")), {"text": "heard"}]));
    let mut session = world.claude();
    session.args(["-p", &format!("Do {id}."), "--allowedTools=Bash(ask-post:*)"]);
    session.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the real claude")
}

/// From 150 ms before the answer is accepted to 450 ms after it. Nothing is lost, and no work is done twice. A session that was killed
/// between its request and the line in its transcript has not acted on the answer, so an agent is launched with it.
#[test]
fn an_answer_around_its_agents_death_reaches_an_agent_once() {
    let mut world = ClaudeWorld::new();
    world.keep_watching_from_the_start();
    for moment in 0..60 {
        let id = format!("ship-{moment}");
        let mut session = session_that_waits(&world, &id);
        until("the question", || world.names("pending") == [format!("{id}.json")]);
        asleep(until("its process", || world.processes(&format!("-w {id} ")).pop()));
        let pid = i32::try_from(session.id()).expect("a pid");
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(10 * moment));
                signal(pid, Signal::KILL);
            });
            std::thread::sleep(Duration::from_millis(150));
            world.answer(&id, "yes");
        });
        session.wait().expect("an end");
        until("the end of the round", || world.rounds("closed", &id).pop().filter(|_| world.names("running").is_empty()));
        let heard = world.api.requests_with_text(&format!("Do {id}."));
        let heard: Vec<_> = heard.iter().filter(|turn| turn.tool_results().concat().contains("yes")).collect();
        let launched = world.api.requests_with_text("User chose: yes").iter().filter(|turn| turn.model_text().contains(&id)).count();
        assert!(launched <= 1 && heard.len() + launched >= 1, "{moment}: {launched} {heard:#?}\n{}", world.describe(&id));
        if let (1, [turn]) = (launched, &heard[..]) {
            let transcript = turn.session_id().and_then(|session| world.transcript_of(&session)).expect("a transcript");
            let transcript = std::fs::read_to_string(transcript).expect("readable");
            assert!(!transcript.contains(r#""text":"heard""#), "{moment}: the session went on, and so did a launch");
        }
    }
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
