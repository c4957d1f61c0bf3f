//! Dead supervisors, an overloaded API, a wrong key, a missing program: nothing is lost, nothing is done twice.

use crate::support::claude::LIMIT;
use crate::support::service::{Service, bash, is_alive, signal};
use serde_json::json;
use std::time::Duration;

const TOOLS: &str = "allowed_tools = ['Bash(ask-post:*)', 'Bash(checkpoint:*)', 'Bash(work:*)', 'Bash(hold:*)']\n";

/// A run that has done some work and is in the middle of a tool that waits; returns its round.
#[track_caller]
fn in_the_middle_of_a_tool(service: &mut Service) -> String {
    service.configure(&format!("[relaunch]\nbackoff = '10ms'\n[runner.claude]\n{TOOLS}"));
    service.home.add_script("work", "echo done >> work.log; echo worked");
    service.add_hold("hold");
    service.watch_on_nothing();
    let round = service.ask("w", &["Begin?"]);
    service.api.on("User chose: yes", json!([bash("work"), bash("hold"), {"text": "never said"}]));
    service.api.on("Your process was interrupted", json!([{"text": "finished"}]));
    service.answer("w", "yes");
    service.api.wait_for_text("worked", 1, LIMIT);
    // The agent writes its transcript a little later than it works.
    let noted = |session: &str| service.home.transcript(session).and_then(|t| std::fs::read_to_string(t).ok()).unwrap_or_default();
    let status = service.wait_status("w", "in its tool", |status| {
        let transcript = noted(status["session_id"].as_str().unwrap_or_default());
        !service.processes("hold").is_empty() && transcript.contains(r#""command":"hold""#)
    });
    assert_eq!(status["state"], "running");
    round
}

/// What has to be true once the run was recovered. `before`: the processes of the first attempt.
#[track_caller]
fn recovered(service: &Service, round: &str, before: &[u32]) {
    let request = service.api.wait_for_text("Your process was interrupted", 1, LIMIT);
    // Nothing of the first attempt lived when the second one began.
    for pid in before {
        assert!(!is_alive(*pid), "{pid} of the first attempt lives");
    }
    let status = service.wait_state("w", "delivered");
    assert_eq!((&status["result"], &status["attempt"]), (&json!("finished"), &json!(2)));
    let launches = service.launches();
    assert_eq!(launches.len(), 2, "{launches:#?}");
    let session = status["session_id"].as_str().expect("a session");
    assert!(launches[0].args.contains(&format!("--session-id={session}")));
    assert!(launches[1].args.contains(&format!("--resume={session}")) && !launches[1].args.contains("--fork-session"));
    assert_eq!(request.session_id().as_deref(), Some(session));
    let told = request.model_text();
    assert_eq!(told.matches("User chose: yes").count(), 1, "{told}");
    // What was done is known to be done, and what was cut is known to be cut.
    assert_eq!(request.tool_results(), ["worked", "Exit code 137\nholding"]);
    let log = std::fs::read_to_string(service.home.work().join("work.log")).expect("a log");
    assert_eq!(log, "done\n");
    assert_eq!(service.run_record("w", round, 1)["why"], "its supervisor died");
}

#[test]
fn a_supervisor_killed_in_the_middle_of_a_tool_takes_its_agent_along_and_the_session_goes_on() {
    let mut service = Service::new();
    let round = in_the_middle_of_a_tool(&mut service);
    let supervisors = service.processes("relaunch supervise");
    assert_eq!(supervisors.len(), 1, "{supervisors:?}");
    let before = [supervisors.clone(), service.processes("hold"), vec![service.launches()[0].pid]].concat();
    signal(supervisors[0], "KILL");
    recovered(&service, &round, &before);
}

#[test]
fn a_run_goes_on_without_its_watcher_and_is_recovered_by_the_next_one() {
    let mut service = Service::new();
    let round = in_the_middle_of_a_tool(&mut service);
    service.stop_watching();
    let agent = service.launches()[0].pid;
    assert!(is_alive(agent));
    assert_eq!(service.status("w")["state"], "running");
    let before = [service.processes("relaunch supervise"), service.processes("hold"), vec![agent]].concat();
    before[..1].iter().for_each(|pid| signal(*pid, "KILL"));
    service.wait_state("w", "orphaned");
    service.watch();
    recovered(&service, &round, &before);
}

#[test]
fn a_run_whose_watcher_was_killed_is_delivered_without_it() {
    let mut service = Service::new();
    in_the_middle_of_a_tool(&mut service);
    service.processes("relaunch watch").iter().for_each(|pid| signal(*pid, "KILL"));
    service.release("hold");
    let status = service.wait_state("w", "delivered");
    assert_eq!(status["result"], "never said");
    assert_eq!(service.launches().len(), 1);
}

#[test]
fn an_overloaded_api_is_tried_again_and_the_answer_is_shown_once() {
    let mut service = Service::new();
    service.configure("[relaunch]\nbackoff = '2s'\n[runner.claude]\nenv = { CLAUDE_CODE_MAX_RETRIES = '1' }\n");
    service.watch_on_nothing();
    service.ask("w", &["Begin?"]);
    service.api.on("User chose: yes", json!([{"status": 529, "times": 99}]));
    service.answer("w", "yes");
    let status = service.wait_state("w", "throttled");
    assert_eq!(status["failure"], "throttled");
    assert!(status["why"].as_str().is_some_and(|why| why.contains("API error 529")), "{status}");
    let throttled: Vec<_> = service.events("w").into_iter().filter(|e| e["type"] == "throttled").collect();
    assert!(throttled.iter().any(|e| e["status"] == 529), "{throttled:?}");
    service.api.on("User chose: yes", json!([{"text": "through"}]));
    service.api.on("Your process was interrupted", json!([{"text": "through"}]));
    let status = service.wait_state("w", "delivered");
    assert_eq!((&status["result"], &status["attempt"]), (&json!("through"), &json!(2)));
    let session = status["session_id"].as_str().expect("a session");
    let last = service.api.turns().pop().expect("a turn");
    assert_eq!(last.session_id().as_deref(), Some(session));
    assert_eq!(last.model_text().matches("User chose: yes").count(), 1, "{}", last.model_text());
    let launches = service.launches();
    assert_eq!(launches.len(), 2);
    assert!(launches[1].args.contains(&format!("--resume={session}")), "{launches:#?}");
}

#[test]
fn a_wrong_key_parks_at_once_with_the_reason_and_a_retry_brings_it_home() {
    let mut service = Service::new();
    // By itself the agent tries a 401 for three minutes.
    service.configure("[runner.claude]\nenv = { CLAUDE_CODE_MAX_RETRIES = '0' }\n");
    service.watch_on_nothing();
    service.ask("w", &["Begin?"]);
    service.api.on("User chose: yes", json!([{"status": 401, "times": 99}]));
    service.answer("w", "yes");
    let status = service.wait_state("w", "parked");
    assert!(status["why"].as_str().is_some_and(|why| why.contains("API error 401")), "{status}");
    assert_eq!((&status["attempt"], service.launches().len()), (&json!(1), 1));
    service.api.on("User chose: yes", json!([{"text": "in"}]));
    service.api.on("Your process was interrupted", json!([{"text": "in"}]));
    let retried = service.call("relaunch", &["retry", "w"]).ok();
    assert!(retried.stdout.contains("in"), "{retried:?}");
    assert_eq!(service.status("w")["state"], "delivered");
    let last = service.api.turns().pop().expect("a turn");
    assert_eq!(last.model_text().matches("User chose: yes").count(), 1);
}

#[test]
fn a_missing_claude_parks_with_a_reason_that_helps_and_a_retry_brings_it_home() {
    let mut service = Service::new();
    service.watch_on_nothing();
    service.remove_claude();
    service.ask("w", &["Begin?"]);
    service.answer("w", "yes");
    let status = service.wait_state("w", "parked");
    let why = status["why"].as_str().expect("a reason");
    assert!(why.contains("there is no program `claude`"), "{why}");
    let words = service.call("relaunch", &["status"]).ok().stdout;
    assert!(words.contains("parked"), "{words}");
    // Once more, unmended: refused with the same reason, and parked again.
    let again = service.call("relaunch", &["retry", "w"]);
    assert_eq!(again.status.code(), Some(1), "{again:?}");
    assert!(again.stderr.contains("there is no program `claude`") && again.stderr.contains("relaunch retry w"), "{again:?}");
    service.install_claude();
    service.api.on("User chose: yes", json!([{"text": "here"}]));
    service.call("relaunch", &["retry", "w"]).ok();
    let status = service.wait_state("w", "delivered");
    assert_eq!(status["result"], "here");
    assert_eq!(service.launches().len(), 1);
    assert!(service.files("parked").is_empty());
}

#[test]
fn an_agent_that_dies_at_its_start_is_tried_again_and_then_parked_with_what_it_said() {
    let mut service = Service::new();
    service.configure("[relaunch]\nbackoff = '10ms'\nattempts = 2\n[runner.claude]\nargs = ['--no-such-option']\n");
    service.watch_on_nothing();
    service.ask("w", &["Begin?"]);
    service.answer("w", "yes");
    let status = service.wait_state("w", "parked");
    let why = status["why"].as_str().expect("a reason");
    assert!(why.contains("no-such-option") && why.contains("attempt 2 of 2"), "{why}");
    assert_eq!(service.launches().len(), 2);
    assert_eq!(service.api.wait_for(|_| true, Duration::from_secs(1)).iter().filter(|r| r.is_turn()).count(), 0);
}
