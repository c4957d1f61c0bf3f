//! Killed supervisors, an overloaded API, a wrong key, a missing program: no answer is lost and no message is sent twice.

use crate::support::claude::bash;
use crate::support::process::is_alive;
use crate::support::{ClaudeWorld, LIMIT, Signal, signal, until};
use serde_json::json;
use std::time::Duration;

const TOOLS: &str = "allowed_tools = ['Bash(ask-post:*)', 'Bash(checkpoint:*)', 'Bash(work:*)', 'Bash(hold:*)']\n";

/// A run that has done some work and is in the middle of a tool that waits; returns its round.
#[track_caller]
fn in_the_middle_of_a_tool(world: &mut ClaudeWorld) -> String {
    world.configure(&format!("[relaunch]\nbackoff = '10ms'\n[runner.claude]\n{TOOLS}"));
    world.add_script("work", "echo done >> work.log; echo worked");
    world.add_hold("hold");
    world.keep_watching_from_the_start();
    let round = world.ask("w", &["Begin?"]);
    world.api.on("User chose: yes", json!([bash("work"), bash("hold"), {"text": "never said"}]));
    world.api.on("Your process was interrupted", json!([{"text": "finished"}]));
    world.answer("w", "yes");
    world.api.wait_for_text("worked", 1, LIMIT);
    world.wait_for_hold("hold");
    let status = world.wait_transcript("w", r#""command":"hold""#);
    assert_eq!(status["state"], "running");
    round
}

/// Checks that must hold once the run was recovered. `before`: the processes of the first attempt.
#[track_caller]
fn recovered(world: &ClaudeWorld, round: &str, before: &[i32]) {
    let request = world.api.wait_for_text("Your process was interrupted", 1, LIMIT);
    // Nothing of the first attempt lived when the second one began.
    for pid in before {
        assert!(!is_alive(*pid), "{pid} of the first attempt lives");
    }
    let status = world.wait_state("w", "delivered");
    assert_eq!((&status["result"], &status["attempt"]), (&json!("finished"), &json!(2)));
    let launches = world.launches();
    assert_eq!(launches.len(), 2, "{launches:#?}");
    let session = status["session_id"].as_str().expect("a session");
    assert!(launches[0].args.contains(&format!("--session-id={session}")));
    assert!(launches[1].args.contains(&format!("--resume={session}")) && !launches[1].args.contains("--fork-session"));
    assert_eq!(request.session_id().as_deref(), Some(session));
    let told = request.model_text();
    assert_eq!(told.matches("User chose: yes").count(), 1, "{told}");
    // What was done is known to be done, and what was cut is known to be cut.
    let results = request.tool_results();
    assert_eq!((results.len(), results[0].as_str()), (2, "worked"), "{results:?}");
    assert!(["Exit code 137", "[Tool call interrupted"].iter().any(|words| results[1].starts_with(words)), "{results:?}");
    let log = std::fs::read_to_string(world.work().join("work.log")).expect("a log");
    assert_eq!(log, "done\n");
    assert_eq!(world.run_record("w", round, 1)["why"], "its supervisor died");
}

#[test]
fn a_run_whose_watcher_was_killed_is_delivered_without_it() {
    let mut world = ClaudeWorld::new();
    in_the_middle_of_a_tool(&mut world);
    world.processes("relaunch watch").iter().for_each(|pid| signal(*pid, Signal::KILL));
    world.release("hold");
    let status = world.wait_state("w", "delivered");
    assert_eq!(status["result"], "never said");
    assert_eq!(world.launches().len(), 1);
}

#[test]
fn a_wrong_key_parks_the_run_at_once_until_a_retry() {
    let mut world = ClaudeWorld::new();
    // By itself the agent tries a 401 for three minutes.
    world.configure("[runner.claude]\nenv = { CLAUDE_CODE_MAX_RETRIES = '0' }\n");
    world.keep_watching_from_the_start();
    world.ask("w", &["Begin?"]);
    world.api.on("User chose: yes", json!([{"status": 401, "times": 99}]));
    world.answer("w", "yes");
    let status = world.wait_state("w", "parked");
    assert!(status["why"].as_str().is_some_and(|why| why.contains("API error 401")), "{status}");
    assert_eq!((&status["attempt"], world.launches().len()), (&json!(1), 1));
    world.api.on("User chose: yes", json!([{"text": "in"}]));
    world.api.on("Your process was interrupted", json!([{"text": "in"}]));
    let retried = world.run("relaunch", &["retry", "w"]).ok();
    assert!(retried.stdout.contains("in"), "{retried:?}");
    assert_eq!(world.status("w")["state"], "delivered");
    let last = world.api.turns().pop().expect("a turn");
    assert_eq!(last.model_text().matches("User chose: yes").count(), 1);
}

#[test]
fn a_missing_claude_pauses_the_queue_until_it_is_there() {
    let mut world = ClaudeWorld::new();
    world.keep_watching_from_the_start();
    world.remove_claude();
    world.ask("w", &["Begin?"]);
    world.answer("w", "yes");
    let status = world.wait_status("w", "held up", |s| s["cause"] == "no_program");
    until("the queue is paused", || world.audited().iter().any(|entry| entry["event"] == "queue_paused"));
    assert_eq!(status["state"], "answered");
    assert!(status["why"].as_str().is_some_and(|why| why.contains("there is no program `claude`")), "{status}");
    assert!(world.names("parked").is_empty());
    world.api.on("User chose: yes", json!([{"text": "here"}]));
    world.install_claude();
    let status = world.wait_state("w", "delivered");
    assert_eq!(status["result"], "here");
    assert_eq!(world.launches().len(), 1);
}

#[test]
fn an_agent_that_dies_at_its_start_is_parked_in_the_end() {
    let mut world = ClaudeWorld::new();
    world.configure("[relaunch]\nbackoff = '10ms'\nattempts = 2\n[runner.claude]\nargs = ['--no-such-option']\n");
    world.keep_watching_from_the_start();
    world.ask("w", &["Begin?"]);
    world.answer("w", "yes");
    let status = world.wait_state("w", "parked");
    let why = status["why"].as_str().expect("a reason");
    assert!(why.contains("no-such-option") && why.contains("attempt 2 of 2"), "{why}");
    assert_eq!(world.launches().len(), 2);
    assert_eq!(world.api.wait_for(|_| true, Duration::from_secs(1)).iter().filter(|r| r.is_turn()).count(), 0);
}

mod promises {
    use super::*;

    #[test]
    fn a_supervisor_killed_within_a_tool_takes_its_agent_along() {
        let mut world = ClaudeWorld::new();
        let round = in_the_middle_of_a_tool(&mut world);
        let supervisors = world.processes("relaunch supervise");
        assert_eq!(supervisors.len(), 1, "{supervisors:?}");
        let before = [supervisors.clone(), world.processes("hold"), vec![world.launches()[0].pid]].concat();
        signal(supervisors[0], Signal::KILL);
        recovered(&world, &round, &before);
    }

    #[test]
    fn a_run_goes_on_without_its_watcher_until_the_next_one() {
        let mut world = ClaudeWorld::new();
        let round = in_the_middle_of_a_tool(&mut world);
        world.stop_watching();
        let agent = world.launches()[0].pid;
        assert!(is_alive(agent));
        assert_eq!(world.status("w")["state"], "running");
        let before = [world.processes("relaunch supervise"), world.processes("hold"), vec![agent]].concat();
        before[..1].iter().for_each(|pid| signal(*pid, Signal::KILL));
        world.wait_state("w", "orphaned");
        world.keep_watching();
        recovered(&world, &round, &before);
    }

    #[test]
    fn an_overloaded_api_is_tried_again_with_the_answer_once() {
        let mut world = ClaudeWorld::new();
        world.configure("[relaunch]\nbackoff = '5s'\n[runner.claude]\nenv = { CLAUDE_CODE_MAX_RETRIES = '1' }\n");
        world.keep_watching_from_the_start();
        world.ask("w", &["Begin?"]);
        world.api.on("User chose: yes", json!([{"status": 529, "times": 99}]));
        world.answer("w", "yes");
        let status = world.wait_state("w", "throttled");
        assert_eq!(status["failure"], "throttled");
        assert!(status["why"].as_str().is_some_and(|why| why.contains("API error 529")), "{status}");
        let throttled: Vec<_> = world.events("w").into_iter().filter(|e| e["type"] == "throttled").collect();
        assert!(throttled.iter().any(|e| e["status"] == 529), "{throttled:?}");
        // Further attempts may have been refused by now, on a busy machine.
        world.api.on("User chose: yes", json!([{"text": "through"}]));
        let status = world.wait_state("w", "delivered");
        let launches = world.launches();
        assert_eq!((&status["result"], &status["attempt"]), (&json!("through"), &json!(launches.len())));
        assert!(launches.len() >= 2, "{launches:#?}");
        let session = status["session_id"].as_str().expect("a session");
        let last = world.api.turns().pop().expect("a turn");
        assert_eq!(last.session_id().as_deref(), Some(session));
        assert_eq!(last.model_text().matches("User chose: yes").count(), 1, "{}", last.model_text());
        let newest = &launches[launches.len() - 1];
        assert!(newest.args.contains(&format!("--session-id={session}")), "no model had the session before: {launches:#?}");
    }
}
