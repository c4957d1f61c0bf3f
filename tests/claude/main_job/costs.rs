//! The costs that the real agent reports. Its totals grow over resumes and are inherited by forks; the bookings are not.

use crate::support::claude::bash;
use crate::support::claude::version::needs_claude;
use crate::support::{ClaudeWorld, whole_lines};
use serde_json::{Value, json};

fn bookings(world: &ClaudeWorld) -> Vec<Value> {
    let folder = world.in_mailbox("costs");
    // A file for each day.
    let mut files: Vec<_> = std::fs::read_dir(folder).expect("something was booked").flatten().map(|file| file.path()).collect();
    files.sort();
    let text: String = files.iter().map(|file| std::fs::read_to_string(file).expect("a file")).collect();
    whole_lines(&text).map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn usd(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no amount"))
}

#[test]
fn the_real_agent_stops_at_the_budget_that_is_left() {
    let mut world = ClaudeWorld::new();
    world.configure("[limits]\nrun_cost = 0.001\n");
    world.keep_watching_from_the_start();
    world.ask("w", &["Begin?"]);
    world.api.on("User chose: yes", json!([bash("echo one"), bash("echo two"), bash("echo three"), {"text": "never said"}]));
    world.answer("w", "yes");
    let status = world.wait_state("w", "parked");
    assert_eq!(status["failure"], "budget", "{status}");
    assert!(status["why"].as_str().is_some_and(|w| w.contains("limits.run_cost = 0.001")), "{status}");
    assert!(usd(&status["cost_usd"]) >= 0.001 && world.api.turns().len() < 4, "{status}");
    let session = status["session_id"].as_str().expect("a session");
    assert!(world.transcript_of(session).is_some());
    // A retry is refused before it costs anything, until there is room.
    let turns = world.api.turns().len();
    assert!(!world.run("relaunch", &["retry", "w"]).status.success());
    assert_eq!((world.api.turns().len(), world.launches().len()), (turns, 1));
    world.configure("[limits]\nrun_cost = 5\n");
    world.api.on("Your process was interrupted", json!([{"text": "through"}]));
    world.run("relaunch", &["retry", "w"]).ok();
    let status = world.status("w");
    assert_eq!((&status["state"], &status["result"]), (&json!("delivered"), &json!("through")));
}

#[test]
fn the_real_agent_stops_at_its_limit_of_turns_and_is_parked() {
    let mut world = ClaudeWorld::new();
    world.configure("[limits]\nturns = 2\n");
    world.keep_watching_from_the_start();
    world.ask("w", &["Begin?"]);
    world.api.on("User chose: yes", json!([bash("echo one"), bash("echo two"), bash("echo three"), {"text": "never said"}]));
    world.answer("w", "yes");
    let status = world.wait_state("w", "parked");
    assert_eq!((&status["failure"], world.launches().len()), (&json!("turns"), 1), "{status}");
    assert!(world.api.turns().len() <= 3 && status["todo"].as_str().is_some_and(|t| t.contains("limits.turns")), "{status}");
    assert!(!world.notes("w").iter().any(|n| n.contains("stopping")), "it was stopped although it stops by itself");
    // Once there is room the session goes on where it was.
    world.configure("[limits]\nturns = 9\n");
    world.api.on("Your process was interrupted", json!([bash("echo three"), {"text": "through"}]));
    world.run("relaunch", &["w"]).ok();
    let after = world.status("w");
    assert_eq!((&after["state"], &after["result"]), (&json!("delivered"), &json!("through")));
    assert_eq!(after["session_id"], status["session_id"]);
}

mod promises {
    use super::*;

    #[test]
    fn a_resume_and_a_fork_are_booked_with_their_own_turns() {
        needs_claude!(CostOfTheTurn);
        let mut world = ClaudeWorld::new();
        world.configure("[relaunch]\nmode = 'resume'\nbackoff = '10ms'\n[runner.claude]\nenv = { CLAUDE_CODE_MAX_RETRIES = '0' }\n");
        world.keep_watching_from_the_start();
        world.ask("w", &["Begin?"]);
        // A fresh session of two round trips, which asks again.
        world.api.on("User chose: yes", json!([bash("ask-post 'Left or right?'"), {"text": "asked"}]));
        world.answer("w", "yes");
        world.wait_status("w", "asking", |s| s["state"] == "pending" && world.names("running").is_empty());
        // A fork of it; its second round trip is refused, and the next attempt resumes it.
        world.api.on("User chose: left", json!([bash("echo on the way"), {"status": 529, "times": 1}, {"text": "went left"}]));
        world.api.on("Your process was interrupted", json!([{"text": "went left"}]));
        world.answer("w", "left");
        let status = world.wait_state("w", "delivered");
        let launches = world.launches();
        assert!(launches[1].args.contains("--fork-session") && launches[2].args.contains("--resume="), "{launches:#?}");

        let (bookings, paid) = (bookings(&world), world.api.turns().len() - 1);
        assert_eq!(bookings.len(), 3, "{bookings:#?}");
        let one = usd(&bookings[0]["cost_usd"]) / 2.0;
        let sum: f64 = bookings.iter().map(|b| usd(&b["cost_usd"])).sum();
        assert!(one > 0.0 && (sum - one * paid as f64).abs() < 1e-9, "{sum} is not {paid} times {one}: {bookings:#?}");
        assert!((usd(&status["cost_usd"]) - one * (paid - 2) as f64).abs() < 1e-9, "{status}");
        let summary = world.run("relaunch", &["status", "--summary", "--json"]).ok();
        let summary: Value = serde_json::from_str(&summary.stdout).expect("JSON");
        let days = std::fs::read_dir(world.in_mailbox("costs")).expect("something was booked").count();
        assert!(days > 1 || (usd(&summary["spent_today_usd"]) - sum).abs() < 1e-9, "{summary}");
    }
}
