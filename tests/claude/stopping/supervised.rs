//! The watcher's runs are stopped in the same way.

use super::*;
use crate::support::service::signal;
use serde_json::json;

/// An answered question whose run, started by the watcher, is in the middle of writing its file.
#[track_caller]
fn writing() -> Service {
    let mut service = service();
    add_writer(&service);
    service.watch_on_nothing();
    service.ask("w", &["The task of the walnut. Begin?"]);
    service.api.on("User chose: yes", json!([write_steps(), {"text": "never"}]));
    service.answer("w", "yes");
    wait_gate(&service, "begun");
    service
}

#[track_caller]
fn goes_on(service: &Service) {
    assert_eq!((written(service), service.status("w")["state"].clone()), (20, json!("interrupted")));
    let events = service.events("w");
    assert_eq!(rungs(&events), ["boundary"]);
    let session = interrupted(&events)["session_id"].as_str().expect("a session").to_owned();
    assert_eq!(alive(service, &groups(service)), [""; 0]);
    let told = continues(service, "w", &session, json!([{"text": "done"}])).model_text();
    assert_eq!(told.matches("User chose: yes").count(), 1, "{told}");
}

#[test]
fn a_run_of_the_watcher_is_stopped_and_not_started_again_until_somebody_says_so() {
    let service = writing();
    stop(&service, "w", &[]);
    // The watcher looks at everything again when something else is answered.
    service.api.on("User chose: sentinel", json!([{"text": "sentinel"}]));
    service.ask("other", &["Sentinel?"]);
    service.answer("other", "sentinel");
    service.wait_state("other", "delivered");
    assert_eq!(service.launches().len(), 2);
    goes_on(&service);
}

#[test]
fn sigterm_to_the_supervisor_is_a_polite_stop() {
    let service = writing();
    let supervisors = service.processes("relaunch supervise");
    assert_eq!(supervisors.len(), 1, "{supervisors:?}");
    signal(supervisors[0], "TERM");
    service.wait_state("w", "interrupted");
    goes_on(&service);
}

#[test]
fn a_run_in_its_back_off_is_stopped_too() {
    let mut service = service_with("[relaunch]\nbackoff = '1h'\n");
    service.watch_on_nothing();
    service.ask("w", &["Begin?"]);
    service.api.on("User chose: yes", json!([{"status": 500, "times": 99}]));
    service.home.add_script("claude", "echo no >&2; exit 1");
    service.answer("w", "yes");
    service.wait_state("w", "retrying");
    stop(&service, "w", &[]);
    assert_eq!(service.status("w")["state"], "interrupted");
}

#[test]
fn a_supervisor_that_dies_while_it_stops_a_run_is_not_replaced_by_a_new_run() {
    let mut service = service();
    add_sleeper(&service);
    service.watch_on_nothing();
    service.ask("w", &["Begin?"]);
    service.api.on("User chose: yes", json!([bash("sleep-long"), {"text": "never"}]));
    service.answer("w", "yes");
    wait_gate(&service, "begun");
    let supervisor = service.processes("relaunch supervise")[0];
    let mut first = service.program("relaunch");
    let mut first = silent(first.args(["stop", "w", "--grace", "10m"])).spawn().expect("it starts");
    let end = std::time::Instant::now() + LIMIT;
    while rungs(&service.events("w")).is_empty() {
        assert!(std::time::Instant::now() < end, "{}", service.describe("w"));
    }
    signal(supervisor, "KILL");
    assert!(first.wait().is_ok());
    service.wait_state("w", "interrupted");
    assert_eq!(service.launches().len(), 1);
    assert_eq!(alive(&service, &groups(&service)), [""; 0]);
}
