//! What a run does right now can be told: working, throttled, silent.

use super::*;
use serde_json::json;

#[test]
fn a_stalled_stream_is_shown_as_silent() {
    let service = service_with("[limits]\nsilent_after = '1s'\n");
    let mut run = start(&service, "w", &json!([{"stall": true, "text": "half a"}]));
    let silent = run.expect_type("silent");
    assert!(silent["seconds"].as_u64().is_some_and(|s| s >= 1), "{silent}");
    let status = service.status("w");
    assert_eq!(status["state"], "running");
    assert_eq!(status["live"]["doing"], "silent", "{status:#}");
    assert!(status["live"]["words"].as_str().is_some_and(|w| w.starts_with("silent ")), "{status:#}");
    stop(&service, "w", &[]);
}

#[test]
fn an_overloaded_api_is_shown_as_throttled_and_the_run_ends_delivered() {
    let service = service();
    let mut run = start(&service, "w", &json!([{"status": 529, "times": 3}, {"text": "done"}]));
    let throttled = run.expect_type("throttled");
    assert_eq!((&throttled["status"], &throttled["retry"]), (&json!(529), &json!(1)), "{throttled}");
    let status = service.status("w");
    assert_eq!(status["live"]["doing"], "throttled", "{status:#}");
    assert!(status["live"]["words"].as_str().is_some_and(|w| w.starts_with("throttled(529, retry ")), "{status:#}");
    let (outcome, events) = run.wait_end();
    assert!(outcome.status.success(), "{outcome:?} {events:#?}");
    assert_eq!(events.iter().filter(|e| e["type"] == "throttled").count(), 3);
    assert_eq!(service.status("w")["state"], "delivered");
    assert_eq!(service.launches().len(), 1);
}

#[test]
fn status_tells_tool_turns_tokens_cost_and_last_words_of_a_live_run() {
    let service = service();
    service.add_hold("hold");
    let mut run = start(&service, "w", &json!([{"text": "I hold on.", "tool": "Bash", "input": {"command": "hold"}}, {"text": "done"}]));
    run.expect_type("tool_call");
    let status = service.status("w");
    assert_eq!((&status["state"], &status["live"]["doing"]), (&json!("running"), &json!("tool")), "{status:#}");
    assert_eq!((&status["live"]["tool"], &status["live"]["last_words"]), (&json!("Bash"), &json!("I hold on.")), "{status:#}");
    let table = service.call("relaunch", &["status"]).ok().stdout;
    assert!(table.contains("tool:Bash (") && table.contains("I hold on."), "{table}");
    let one = service.call("relaunch", &["status", "w"]).ok().stdout;
    assert!(one.contains("tool:Bash (") && one.contains("I hold on."), "{one}");
    service.release("hold");
    run.wait_end();
    let status = service.status("w");
    let live = &status["live"];
    assert_eq!((&live["doing"], &live["turns"], &live["last_words"]), (&json!("finished"), &json!(2), &json!("done")), "{status:#}");
    assert_eq!((&live["tokens"]["input"], &live["tokens"]["output"]), (&json!(2000), &json!(200)), "{status:#}");
    assert!(live["cost_usd"].as_f64().is_some_and(|c| c > 0.0), "{status:#}");
}
