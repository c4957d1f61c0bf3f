//! The limit on the money of a day is shared by runs that run at the same time. Together they never exceed it.

use std::process::Stdio;

use crate::support::{Running, World, files, kill, until, whole_lines};
use serde_json::Value;

/// An agent that waits until the test lets it go, and then spends all that it may (`share=1`), or a part of that.
const SPENDER: &str = r#"for a; do case $a in --max-budget-usd=*) budget=${a#*=} ;; esac; done
log "budget ${budget:-none}"
step "spend.$ASKBOX_WORKFLOW_ID"
step spend
cost=$(awk "BEGIN { printf \"%.6f\", ${budget:-1000} * $(cat "$AGENT_DIR/share" 2>/dev/null || echo 1) }")
say "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"terminal_reason\":\"completed\",\"session_id\":\"$session\",\"result\":\"done\",\"num_turns\":1,\"model_usage_since_last_result\":{\"m\":{\"costUSD\":$cost}}}"
"#;

fn world(slots: u32, limits: &str) -> World {
    let world = World::stepping(SPENDER);
    world.configure(&format!("[limits]\n{limits}"));
    world.reconfigure("max_concurrent = 8", &format!("max_concurrent = {slots}"));
    world
}

/// The sum that each launch was told that it may spend.
fn budgets(world: &World) -> Vec<f64> {
    world.log().iter().filter_map(|l| l.strip_prefix("budget ")?.parse().ok()).collect()
}

fn spent(world: &World) -> f64 {
    let files = files(&world.in_mailbox("costs"));
    let text: String = files.values().map(|bytes| String::from_utf8_lossy(bytes).into_owned()).collect();
    let costs = whole_lines(&text).map(|line| serde_json::from_str::<Value>(line).expect("a booking is JSON")["cost_usd"].as_f64());
    costs.map(|c| c.expect("a cost")).sum()
}

#[test]
fn runs_reserve_their_own_limit_and_others_wait_for_the_rest() {
    let world = world(4, "day_cost = 2\nrun_cost = 0.8");
    world.hold("spend");
    let workflows = ["a", "b", "c", "d", "e"];
    workflows.iter().for_each(|w| world.ask_and_answer(w));
    let _watcher = world.start_watcher();
    until("three have all of it", || budgets(&world).len() == 3);
    let mut parts = budgets(&world);
    parts.sort_by(f64::total_cmp);
    assert!((parts[0] - 0.4).abs() < 1e-5 && (parts[1] - 0.8).abs() < 1e-5 && (parts[2] - 0.8).abs() < 1e-5, "{parts:?}");
    // A launch by hand is treated the same.
    world.ask_and_answer("f");
    let mut by_hand = Running::start(world.command("relaunch").arg("f").stdout(Stdio::null()));
    // Its first attempt is throttled, and the next one waits in the queue.
    until("f waits for money", || {
        let status = world.status("f");
        let why = status["why"].as_str().is_some_and(|why| why.contains("reserved for live runs"));
        why && (status["state"] == "throttled" || status["state"] == "queued")
    });
    let records = files(&world.in_mailbox("runs/f")).into_iter().filter(|(path, _)| path.ends_with("1/run.json"));
    let record: Value = records.map(|(_, bytes)| serde_json::from_slice(&bytes).expect("JSON")).next().expect("a record");
    assert_eq!((&record["state"], &record["failure"]["class"]), (&"failed".into(), &"held".into()), "{record:#}");
    assert_eq!(budgets(&world).len(), 3, "something was launched without money");
    // They spend a quarter of it: there is room for the others, who were never parked.
    std::fs::write(world.agent("share"), "0.25").expect("a file");
    world.let_go("spend");
    until("all are delivered", || workflows.iter().chain(&["f"]).all(|w| world.state(w) == "delivered"));
    assert!(by_hand.wait().success(), "the command waits until there is money");
    assert!(spent(&world) <= 2.0, "{} USD", spent(&world));
}

#[test]
fn what_a_killed_run_had_reserved_is_free_again() {
    let world = world(4, "day_cost = 2\nrun_cost = 2");
    world.hold("spend.a");
    world.ask_and_answer("a");
    let watcher = world.start_watcher();
    let [_, supervisor] = world.held("spend.a");
    world.ask_and_answer("b");
    until("b waits for money", || {
        let waiting = world.status("b");
        let why = waiting["why"].as_str().is_some_and(|w| w.contains("reserved for live runs (1)"));
        waiting["state"] == "answered" && why
    });
    assert_eq!(budgets(&world).len(), 1, "all of the day is the first one's");
    // Nobody goes on with the dead one.
    watcher.kill();
    kill(supervisor);
    until("it is gone", || world.of_runs().is_empty());
    world.ok("relaunch", &["b"]);
    assert_eq!(world.state("b"), "delivered");
    assert!((1.99..=2.0).contains(&spent(&world)), "{} USD", spent(&world));
}

mod promises {
    use super::*;

    #[test]
    fn runs_without_a_limit_of_their_own_get_even_parts_of_the_day() {
        let world = world(4, "day_cost = 2");
        world.hold("spend");
        ["a", "b", "c", "d"].iter().for_each(|w| world.ask_and_answer(w));
        let _watcher = world.start_watcher();
        until("four are at work", || budgets(&world).len() == 4);
        let parts = budgets(&world);
        assert!(parts.iter().all(|b| (b - 0.5).abs() < 1e-5), "{parts:?}");
        world.let_go("spend");
        until("all are delivered", || ["a", "b", "c", "d"].iter().all(|w| world.state(w) == "delivered"));
        assert!((1.99..=2.0).contains(&spent(&world)), "{} USD", spent(&world));
    }
}
