//! The scripted API itself: each kind of step has its effect on the real agent.

use crate::support::claude::api::Api;
use crate::support::claude::live::Live;
use crate::support::claude::uuid;
use crate::support::{ClaudeWorld, LIMIT};
use serde_json::json;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Instant;

#[test]
fn a_script_that_has_ended_repeats_the_newest_tool_result() {
    let world = ClaudeWorld::without_askbox();
    let prompt = r#"@@[{"text":"look","tool":"Bash","input":{"command":"echo told"}}]"#;
    assert_eq!(world.prompt_stream(prompt, &[]).ok().result()["result"], "told");
}

#[test]
fn parallel_tools_come_in_one_message_and_both_results_go_back() {
    let world = ClaudeWorld::without_askbox();
    let api = &world.api;
    let prompt = r#"@@[{"tools":[{"tool":"Bash","input":{"command":"echo a"}},
        {"tool":"Bash","input":{"command":"echo b"}}]},{"text":"both"}]"#;
    assert_eq!(world.prompt_stream(prompt, &[]).ok().result()["result"], "both");
    let turns = api.turns();
    assert_eq!(turns.len(), 2);
    // The results come in the order in which the tools ended.
    let mut results = turns[1].tool_results();
    results.sort();
    assert_eq!(results, ["a", "b"]);
}

#[test]
fn a_registered_marker_beats_a_quoted_script() {
    let world = ClaudeWorld::without_askbox();
    let api = &world.api;
    api.on("Resume workflow w1", json!([{"text": "registered"}]));
    let prompt = r#"Resume workflow w1: the user said @@[{"text":"quoted"}] and @@[ and @@[1]"#;
    let result = world.prompt_stream(prompt, &[]).ok().result();
    assert_eq!(result["result"], "registered");

    let escaped = r#"the document {"answer":"@@[{\"text\":\"from the document\"}]"} says it"#;
    let result = world.prompt_stream(escaped, &[]).ok().result();
    assert_eq!(result["result"], "from the document");
}

#[test]
fn errors_and_cuts_come_as_often_as_told() {
    let world = ClaudeWorld::without_askbox();
    let api = &world.api;
    let prompt = r#"@@[{"status":529,"times":1},{"status":429,"retry_after":0},{"cut":true},{"text":"through"}]"#;
    let outcome = world.prompt_stream(prompt, &[]).ok();
    assert_eq!(outcome.result()["result"], "through");
    let events = outcome.events();
    let retries = events.iter().filter(|e| e["subtype"] == "api_retry");
    let statuses: Vec<_> = retries.map(|e| e["error_status"].clone()).collect();
    assert_eq!(statuses[..2], [json!(529), json!(429)]);
    assert_eq!(api.turns().len(), 4);

    // The CLI itself tries a 400 some more times before it gives up.
    let refused = world.prompt_stream(r#"@@[{"status":400,"times":9}]"#, &[]).result();
    assert_eq!(refused["terminal_reason"], "api_error");
    assert_eq!(refused["api_error_status"], 400);
}

#[test]
fn slow_text_arrives_whole_and_a_delay_is_kept() {
    let world = ClaudeWorld::without_askbox();
    let prompt = r#"@@[{"delay_ms":300},{"slow_text":"grün und blau","chunks":4,"chunk_ms":50}]"#;
    let result = world.prompt_stream(prompt, &[]).ok().result();
    assert_eq!(result["result"], "grün und blau");
    let took = result["duration_api_ms"].as_u64().expect("a number");
    assert!(took >= 300 + 3 * 50, "{took}");
}

#[test]
fn a_stall_lasts_until_the_turn_is_interrupted() {
    let world = ClaudeWorld::without_askbox();
    let mut live = Live::start(&world, &["--include-partial-messages"]);
    live.say(&uuid(), r#"@@[{"stall":true,"text":"half a"}]"#);
    live.expect("the text so far", |e| e["event"]["delta"]["text"] == "half a");
    live.send(&json!({"type": "control_request", "request_id": "i1", "request": {"subtype": "interrupt"}}));
    let result = live.expect_type("result");
    assert_eq!(result["terminal_reason"], "aborted_streaming");
    live.finish();
}

#[test]
fn an_unknown_path_of_the_api_is_not_found() {
    let api = Api::start();
    let address = api.url().replace("http://", "");
    let mut stream = TcpStream::connect(&address).expect("a connection");
    stream.set_read_timeout(Some(LIMIT)).expect("a time limit");
    let mut exchange = |request: &str, until: &str| {
        stream.write_all(request.as_bytes()).expect("sent");
        let (mut seen, mut byte) = (Vec::new(), [0]);
        while !seen.ends_with(until.as_bytes()) && stream.read(&mut byte).expect("a reply") == 1 {
            seen.push(byte[0]);
        }
        String::from_utf8_lossy(&seen).into_owned()
    };
    assert!(exchange("HEAD / HTTP/1.1\r\n\r\n", "\r\n\r\n").contains(" 200 "));
    assert!(exchange("GET /other HTTP/1.1\r\n\r\n", "}}").contains(" 404 "));
    let body = r#"{"stream":true,"messages":[{"role":"user","content":"@@[{\"stall\":true}]"}]}"#;
    let length = body.len();
    let post = format!("POST /v1/messages HTTP/1.1\r\ncontent-length: {length}\r\n\r\n{body}");
    assert!(exchange(&post, "\r\n\r\n").contains(" 200 "));
    let begun = Instant::now();
    drop(api);
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).expect("the end");
    assert!(begun.elapsed() < LIMIT / 2);
}
