//! A request to stop finishes the tool in flight, and the session goes on later.

use crate::agent::scene::{SESSION, Scene};
use crate::support::claude::live::Live;
use crate::support::{Signal, signal, signal_taken_in, until};
use serde_json::json;

const STREAMS: [&str; 7] = ["-p", "--input-format", "stream-json", "--output-format", "stream-json", "--session-id", SESSION];

/// A session whose first tool runs until the file `go` is there.
fn in_a_tool(scene: &Scene) -> Live {
    let mut live = Live::spawn(scene.agent(&STREAMS));
    let wait = json!({"tool": "Bash", "input": {"command": "touch begun; until [ -e go ]; do sleep 0.05; done; echo finished"}});
    live.say("m", &format!("x @@{}", json!([{"tools": [wait, {"tool": "Bash", "input": {"command": "touch second"}}]}, {"text": "done"}])));
    until("the tool runs", || scene.path("begun").exists());
    live
}

#[test]
fn sigterm_finishes_the_tool_and_the_next_process_goes_on() {
    let scene = Scene::new();
    let live = in_a_tool(&scene);
    signal_taken_in(live.pid(), Signal::TERM);
    std::fs::write(scene.path("go"), "").unwrap();
    let (outcome, events) = live.finish();
    assert_eq!(outcome.code(), 143);
    assert!(!events.iter().any(|event| event["type"] == "result"));
    assert!(!scene.path("second").exists());
    assert_eq!(scene.go_on().ok().result()["result"], "done");
    assert_eq!(scene.turns()[1].tool_results(), ["finished", ""]);
}

#[test]
fn a_second_signal_ends_the_tool() {
    let scene = Scene::new();
    let mut live = in_a_tool(&scene);
    // Two signals at once may arrive as one.
    until("the tool has ended", || {
        signal(live.pid(), Signal::INT);
        std::fs::read_to_string(scene.transcript()).unwrap().contains("a second request to stop ended it")
    });
    assert_eq!(live.expect_type("result")["terminal_reason"], "aborted_tools");
    live.finish();
}

#[test]
fn an_interrupt_in_the_middle_of_a_text_keeps_the_text() {
    let scene = Scene::new();
    let mut live = Live::spawn(scene.agent(&[&STREAMS[..], &["--include-partial-messages"]].concat()));
    live.say("m", r#"x @@[{"text":"half a thought","stall":true}]"#);
    live.expect("the text", |event| event["event"]["delta"]["text"] == "half a thought");
    live.send(&json!({"type": "control_request", "request_id": "i", "request": {"subtype": "interrupt"}}));
    assert_eq!(live.expect_type("result")["terminal_reason"], "aborted_streaming");
    live.say("n", r#"y @@[{"text":"went on"}]"#);
    live.expect_type("result");
    live.finish();
    assert_eq!(scene.turns()[1].assistant_text(), "half a thought");
}

#[test]
fn a_message_during_a_tool_comes_with_its_result() {
    let scene = Scene::new();
    let mut live = in_a_tool(&scene);
    live.say("n", "also this");
    live.expect("queued", |event| event["command_uuid"] == "n" && event["state"] == "queued");
    std::fs::write(scene.path("go"), "").unwrap();
    live.expect("completed", |event| event["command_uuid"] == "n" && event["state"] == "completed");
    // A message that the session has worked on is not taken again.
    live.say("n", "also this");
    live.expect("completed again", |event| event["command_uuid"] == "n" && event["state"] == "completed");
    live.finish();
    let turns = scene.turns();
    assert_eq!((turns.len(), turns[1].messages().len()), (2, 3));
    assert!(turns[1].model_text().ends_with("also this"), "{}", turns[1].model_text());
}

mod promises {
    use super::*;

    #[test]
    fn an_interrupt_finishes_the_tool_and_makes_no_other_call() {
        let scene = Scene::new();
        let mut live = in_a_tool(&scene);
        live.send(&json!({"type": "control_request", "request_id": "i", "request": {"subtype": "interrupt"}}));
        live.expect("reply", |event| event["type"] == "control_response" && event["response"]["subtype"] == "success");
        std::fs::write(scene.path("go"), "").unwrap();
        let result = live.expect_type("result");
        assert_eq!((&result["terminal_reason"], &result["is_error"]), (&json!("aborted_tools"), &json!(true)));
        // The same process takes the next message.
        live.say("n", r#"y @@[{"text":"went on"}]"#);
        assert_eq!(live.expect_type("result")["result"], "went on");
        live.finish();
        let told = scene.turns()[1].tool_results();
        assert!(told[0] == "finished" && told[1].starts_with("The user doesn't want to proceed"), "{told:?}");
        assert!(scene.turns()[1].model_text().contains("[Request interrupted by user"));
        assert!(!scene.path("second").exists());
    }
}
