//! The day's limit on money is shared by runs at the same time: together they never pass it.

use crate::support::faults::{self, Place, kill, until};
use serde_json::Value;

/// An agent that waits until the test lets it go, and then spends all that it may (`share=1`), or a part of that.
const SPENDER: &str = r#"for a; do case $a in --max-budget-usd=*) budget=${a#*=} ;; esac; done
log "budget ${budget:-none}"
step "spend.$ASKBOX_WORKFLOW_ID"
step spend
cost=$(awk "BEGIN { printf \"%.6f\", ${budget:-1000} * $(cat "$AGENT_DIR/share" 2>/dev/null || echo 1) }")
say "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"terminal_reason\":\"completed\",\"session_id\":\"$session\",\"result\":\"done\",\"num_turns\":1,\"model_usage_since_last_result\":{\"m\":{\"costUSD\":$cost}}}"
"#;

fn place(slots: u32, limits: &str) -> Place {
    let place = Place::with(SPENDER);
    place.configure(&format!("[limits]\n{limits}"));
    let toml = std::fs::read_to_string(place.root.join("config.toml")).expect("it is there");
    std::fs::write(place.root.join("config.toml"), toml.replace("max_concurrent = 8", &format!("max_concurrent = {slots}")))
        .expect("a file");
    place
}

fn hold(place: &Place, step: &str) {
    std::fs::write(place.agent(&format!("pause.{step}")), "").expect("a file");
}

fn let_go(place: &Place, step: &str) {
    std::fs::remove_file(place.agent(&format!("pause.{step}"))).expect("it is held");
}

fn answered(place: &Place, workflow: &str) {
    place.ok("ask-post", &["-w", workflow, "Merge?", "-o", "a=A"]);
    place.ok("ask-answer", &[workflow, "a"]);
}

/// What each launch was told that it may spend.
fn budgets(place: &Place) -> Vec<f64> {
    place.log().iter().filter_map(|l| l.strip_prefix("budget ")?.parse().ok()).collect()
}

fn spent(place: &Place) -> f64 {
    let files = faults::files(&place.mailbox().join("costs"));
    let text: String = files.values().map(|bytes| String::from_utf8_lossy(bytes).into_owned()).collect();
    let costs = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("a booking is JSON")["cost_usd"].as_f64());
    costs.map(|c| c.expect("a cost")).sum()
}

#[test]
fn runs_without_a_limit_of_their_own_get_even_parts_of_the_day() {
    let place = place(4, "day_cost = 2");
    hold(&place, "spend");
    ["a", "b", "c", "d"].iter().for_each(|w| answered(&place, w));
    let _watcher = place.watcher();
    until("four are at work", || budgets(&place).len() == 4);
    let parts = budgets(&place);
    assert!(parts.iter().all(|b| (b - 0.5).abs() < 1e-5), "{parts:?}");
    let_go(&place, "spend");
    until("all are delivered", || ["a", "b", "c", "d"].iter().all(|w| place.state(w) == "delivered"));
    assert!((1.99..=2.0).contains(&spent(&place)), "{} USD", spent(&place));
}

#[test]
fn runs_with_a_limit_of_their_own_reserve_it_and_the_others_wait_for_what_is_not_spent() {
    let place = place(4, "day_cost = 2\nrun_cost = 0.8");
    hold(&place, "spend");
    let workflows = ["a", "b", "c", "d", "e"];
    workflows.iter().for_each(|w| answered(&place, w));
    let _watcher = place.watcher();
    until("three have all of it", || budgets(&place).len() == 3);
    let mut parts = budgets(&place);
    parts.sort_by(f64::total_cmp);
    assert!((parts[0] - 0.4).abs() < 1e-5 && (parts[1] - 0.8).abs() < 1e-5 && (parts[2] - 0.8).abs() < 1e-5, "{parts:?}");
    // By hand it is no other.
    answered(&place, "f");
    let out = place.run("relaunch", &["f"]);
    assert!(!out.status.success() && faults::words(&out).contains("reserved for live runs"), "{out:?}");
    let records = faults::files(&place.mailbox().join("runs/f")).into_iter().filter(|(path, _)| path.ends_with("1/run.json"));
    let record: Value = records.map(|(_, bytes)| serde_json::from_slice(&bytes).expect("JSON")).next().expect("a record");
    assert_eq!((&record["state"], &record["failure"]["class"]), (&"failed".into(), &"held".into()), "{record:#}");
    assert_eq!(budgets(&place).len(), 3, "something was launched without money");
    // They spend a quarter of it: there is room for the others, who were never parked.
    std::fs::write(place.agent("share"), "0.25").expect("a file");
    let_go(&place, "spend");
    until("all are delivered", || workflows.iter().chain(&["f"]).all(|w| place.state(w) == "delivered"));
    assert!(spent(&place) <= 2.0, "{} USD", spent(&place));
}

#[test]
fn what_a_killed_run_had_reserved_is_free_again() {
    let place = place(4, "day_cost = 2\nrun_cost = 2");
    hold(&place, "spend.a");
    answered(&place, "a");
    let watcher = place.watcher();
    until("it is at work", || place.agent("at.spend.a").exists());
    answered(&place, "b");
    let pids = std::fs::read_to_string(place.agent("at.spend.a")).expect("pids");
    let supervisor: i32 = pids.split_whitespace().nth(1).and_then(|p| p.parse().ok()).expect("a pid");
    std::thread::sleep(std::time::Duration::from_millis(500));
    assert_eq!(budgets(&place).len(), 1, "all of the day is the first one's");
    let waiting: Value = serde_json::from_str(&place.ok("relaunch", &["status", "b", "--json"])).expect("JSON");
    assert!(
        waiting["state"] == "answered" && waiting["why"].as_str().is_some_and(|w| w.contains("reserved for live runs (1)")),
        "{waiting}"
    );
    // Nobody goes on with the dead one.
    watcher.kill();
    kill(supervisor);
    until("it is gone", || place.orphans().is_empty());
    place.ok("relaunch", &["b"]);
    assert_eq!(place.state("b"), "delivered");
    assert!((1.99..=2.0).contains(&spent(&place)), "{} USD", spent(&place));
}
