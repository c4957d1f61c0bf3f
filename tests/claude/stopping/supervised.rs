//! Runs of a watcher are stopped in the same way as runs in the foreground.

use super::*;
use crate::support::claude::bash;
use crate::support::{ClaudeWorld, LIMIT, Signal, signal};
use serde_json::json;

/// An answered question whose run, started by the watcher, is in the middle of writing its file.
#[track_caller]
fn writing() -> ClaudeWorld {
    let mut world = world();
    add_writer(&world);
    world.keep_watching_from_the_start();
    world.ask("w", &["The task of the walnut. Begin?"]);
    world.api.on("User chose: yes", json!([write_steps(), {"text": "never"}]));
    world.answer("w", "yes");
    wait_gate(&world, "begun");
    world
}

#[track_caller]
fn goes_on(world: &ClaudeWorld) {
    assert_eq!((written(world), world.status("w")["state"].clone()), (20, json!("interrupted")));
    let events = world.events("w");
    climbed(&events, &["boundary"]);
    let session = interrupted(&events)["session_id"].as_str().expect("a session").to_owned();
    assert_eq!(alive(world, &groups(world)), [""; 0]);
    let told = continues(world, "w", &session, json!([{"text": "done"}])).model_text();
    assert_eq!(told.matches("User chose: yes").count(), 1, "{told}");
}

#[test]
fn a_stopped_run_is_not_started_until_somebody_says_so() {
    let world = writing();
    stop(&world, "w", &[]);
    // The watcher looks at everything again when something else is answered.
    world.api.on("User chose: sentinel", json!([{"text": "sentinel"}]));
    world.ask("other", &["Sentinel?"]);
    world.answer("other", "sentinel");
    world.wait_state("other", "delivered");
    assert_eq!(world.launches().len(), 2);
    goes_on(&world);
}

#[test]
fn sigterm_to_the_supervisor_stops_the_run_after_its_tool() {
    let world = writing();
    let supervisors = world.processes("relaunch supervise");
    assert_eq!(supervisors.len(), 1, "{supervisors:?}");
    signal(supervisors[0], Signal::TERM);
    world.wait_state("w", "interrupted");
    goes_on(&world);
}

#[test]
fn a_run_in_its_back_off_is_stopped_too() {
    let mut world = service_with("[relaunch]\nbackoff = '1h'\n");
    world.keep_watching_from_the_start();
    world.ask("w", &["Begin?"]);
    world.api.on("User chose: yes", json!([{"status": 500, "times": 99}]));
    world.add_script("claude", "echo no >&2; exit 1");
    world.answer("w", "yes");
    world.wait_state("w", "retrying");
    stop(&world, "w", &[]);
    assert_eq!(world.status("w")["state"], "interrupted");
}

#[test]
fn a_supervisor_that_dies_in_a_stop_is_not_replaced() {
    let mut world = world();
    add_sleeper(&world);
    world.keep_watching_from_the_start();
    world.ask("w", &["Begin?"]);
    world.api.on("User chose: yes", json!([bash("sleep-long"), {"text": "never"}]));
    world.answer("w", "yes");
    wait_gate(&world, "begun");
    let supervisor = world.processes("relaunch supervise")[0];
    let mut first = world.command("relaunch");
    let mut first = silent(first.args(["stop", "w", "--grace", "10m"])).spawn().expect("it starts");
    let end = std::time::Instant::now() + LIMIT;
    while rungs(&world.events("w")).is_empty() {
        assert!(std::time::Instant::now() < end, "{}", world.describe("w"));
    }
    signal(supervisor, Signal::KILL);
    assert!(first.wait().is_ok());
    world.wait_state("w", "interrupted");
    assert_eq!(world.launches().len(), 1);
    assert_eq!(alive(&world, &groups(&world)), [""; 0]);
}
