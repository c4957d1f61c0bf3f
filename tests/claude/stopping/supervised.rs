//! Runs of a watcher are stopped in the same way as runs in the foreground.

use super::*;
use crate::support::claude::bash;
use crate::support::{ClaudeWorld, LIMIT, Signal, signal, until};
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
fn a_run_is_read_along_and_stopped_on_the_page() {
    let world = writing();
    let page = world.serve_page();
    let browser = page.signed_in(&world, "ann's phone");
    let list = until("the run is listed", || Some(browser.see("/sessions")).filter(|list| list.text().contains("busy run of askbox")));
    let id = list.body.split("/session/").nth(1).and_then(|rest| rest.split('"').next()).expect("its session").to_owned();
    let place = format!("/session/{id}");
    assert_eq!(list.body.matches(&place).count(), 1, "the record of its agent is the same session");
    assert!(browser.see("/run/w").body.contains(&place));
    let shown = until("its tool is shown", || Some(browser.see(&place)).filter(|shown| shown.text().contains("write-steps")));
    assert!(!shown.body.contains("class=\"answer prompt\""), "a run at work takes no words");
    assert!(shown.body.contains("/run/w\">Its log"), "{}", shown.body);
    let form = shown.hidden("form").expect("a form");
    let stop = |id: &str| browser.post(&format!("{place}/stop"), &[("form", &form), ("prompt", id)]).status;
    assert_eq!(stop("5a1e0c5e-0000-4000-8000-000000000001"), 303);
    world.wait_state("w", "interrupted");
    assert_eq!(stop("5a1e0c5e-0000-4000-8000-000000000002"), 409);
    assert!(world.audited().iter().any(|entry| entry["event"] == "stop_requested" && entry["by"] == "ann's phone"));
    goes_on(&world);
}

#[test]
fn a_run_with_a_configuration_of_its_own_is_read_along() {
    let mut world = ClaudeWorld::new();
    let other = world.path("other").display().to_string();
    world.configure(&format!("[runner.claude]\nallowed_tools = ['Bash', 'Write']\nenv = {{ CLAUDE_CONFIG_DIR = '{other}' }}\n"));
    add_writer(&world);
    world.keep_watching_from_the_start();
    world.api.on("Work as w.", json!([bash("ask-post Begin?"), {"text": "asked"}]));
    world.api.on("User chose: yes", json!([write_steps(), {"text": "never"}]));
    world.run("relaunch", &["run", "-w", "w", "--prompt", "Work as w."]).ok();
    world.answer("w", "yes");
    wait_gate(&world, "begun");
    let page = world.serve_page();
    let browser = page.signed_in(&world, "ann's phone");
    let list = until("the run is listed", || Some(browser.see("/sessions")).filter(|list| list.text().contains("busy run of askbox")));
    let id = list.body.split("/session/").nth(1).and_then(|rest| rest.split('"').next()).expect("its session").to_owned();
    until("its tool is shown", || browser.see(&format!("/session/{id}")).text().contains("write-steps"));
    stop(&world, "w", &[]);
}

#[test]
fn a_run_that_waits_takes_its_answer_as_its_prompt() {
    let mut world = world();
    world.keep_watching_from_the_start();
    world.ask("w", &["The task of the walnut. Begin?"]);
    world.api.on("User chose: yes", json!([bash("ask-post 'Merge or keep?' -o merge -o keep"), {"text": "I have asked."}]));
    world.answer("w", "yes");
    world.wait_status("w", "waits again", |status| status["state"] == "pending" && world.names("running").is_empty());
    let session = world.document("pending/w.json")["session_id"].as_str().expect("its session").to_owned();
    let page = world.serve_page();
    let browser = page.signed_in(&world, "ann's phone");
    let shown = browser.see(&format!("/session/{session}"));
    assert!(shown.text().contains("waits for an answer") && shown.body.contains("/q/w/"), "{}", shown.text());
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
