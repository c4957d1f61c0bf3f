//! The words of the real `claude` are told while it generates them, and a refusal of its API is told with the status.

use super::*;
use crate::support::claude::bash;
use crate::support::until;
use serde_json::json;

/// A service whose agent gives up after one more try, with this API.
fn gives_up(url: Option<&str>) -> ClaudeWorld {
    let mut world = world();
    world.set_env(&[("CLAUDE_CODE_MAX_RETRIES", "1")]);
    world.set_env(&url.map(|url| ("ANTHROPIC_BASE_URL", url)).into_iter().collect::<Vec<_>>());
    world
}

fn pieces(events: &[Value]) -> Vec<&str> {
    events.iter().filter(|e| e["type"] == "partial").filter_map(|e| e["text"].as_str()).collect()
}

#[test]
fn the_words_of_a_slow_text_come_before_the_text() {
    let world = world();
    let mut run = start(&world, "w", &json!([{"slow_text": "one two three four", "chunks": 12, "chunk_ms": 2000}]));
    run.expect_type("partial");
    until("it is generating", || world.status("w")["live"]["doing"] == "generating");
    assert!(!run.events.iter().any(|e| e["type"] == "text"), "{:#?}", run.events);
    let (outcome, events) = run.finish();
    assert!(outcome.status.success(), "{outcome:?}");
    let mut kinds: Vec<&str> = events.iter().filter_map(|e| e["type"].as_str()).filter(|t| !["raw", "note"].contains(t)).collect();
    // On a busy machine, pieces that come close together are one, and the last one may be left out for the whole text.
    kinds.dedup();
    let pieces = pieces(&events);
    assert!((2..=12).contains(&pieces.len()) && "one two three four".starts_with(&pieces.concat()), "{events:#?}");
    assert_eq!(kinds, ["started", "generating", "partial", "text", "result"], "{events:#?}");
}

#[test]
fn a_text_whose_connection_breaks_is_begun_anew() {
    let world = world();
    let mut run =
        start(&world, "w", &json!([{"cut": true, "text": "half a"}, {"slow_text": "the whole text", "chunks": 6, "chunk_ms": 2000}]));
    let throttled = run.expect_type("throttled");
    assert_eq!((&throttled["status"], &throttled["error"]), (&Value::Null, &json!("unknown")), "{throttled}");
    let (outcome, events) = run.finish();
    assert!(outcome.status.success(), "{outcome:?}");
    let anew = events.iter().skip_while(|e| e["type"] != "throttled").find(|e| e["type"] == "partial").expect("a piece");
    assert_eq!(anew["offset"], 0, "{events:#?}");
    assert!(anew["text"].as_str().is_some_and(|text| "the whole text".starts_with(text)), "{events:#?}");
    let texts: Vec<_> = events.iter().filter(|e| e["type"] == "text").map(|e| &e["text"]).collect();
    assert_eq!(texts, ["the whole text"]);
    assert!(world.ok("relaunch", &["logs", "w"]).contains("throttled connection failed, retry 1 in "));
}

#[test]
fn an_api_refusal_is_told_with_its_status() {
    // The port of discard, where nobody listens.
    let cases = [
        (None, Some(529), "throttled", json!(529)),
        (None, Some(401), "retrying", json!(401)),
        (Some("http://127.0.0.1:9"), None, "throttled", Value::Null),
    ];
    for (url, status, kind, told) in cases {
        let world = gives_up(url);
        let steps = status.map_or(json!([{"text": "never"}]), |status| json!([{"status": status, "times": 50}]));
        let mut run = start(&world, "w", &steps);
        let retry = run.expect_type(kind);
        assert_eq!((&retry["status"], &retry["retry"]), (&told, &json!(1)), "{retry}");
        if kind == "retrying" {
            let events = run.finish().1;
            assert!(!events.iter().any(|e| e["type"] == "throttled"), "{events:#?}");
            assert_eq!(world.status("w")["failure"], "authentication");
            continue;
        }
        // The end of the attempt: the agent has named no session, askbox waits for the next one.
        let last = run.expect("end of the attempt", |e| e["type"] == "throttled" && e["max_retries"].is_null());
        assert_eq!(last["status"], told, "{last}");
        let why = last["error"].as_str().expect("a reason");
        assert!(if told.is_null() { why.contains("Connection refused") } else { why.starts_with("API error 529: ") }, "{last}");
        run.kill();
    }
}

#[test]
fn files_touched_are_those_of_the_editing_tools() {
    let world = world();
    let written = world.work().join("written.txt").display().to_string();
    let write = json!({"tool": "Write", "input": {"file_path": written, "content": "x"}});
    let mut run = start(&world, "w", &json!([write, bash("echo y > by-bash.txt"), {"text": "done"}]));
    let result = run.expect_type("result");
    assert_eq!(result["files_touched"], json!([written]), "{result}");
    assert!(world.work().join("by-bash.txt").exists());
    run.finish();
}
