//! Small and quick: what the agent weighs, and how long it takes to its first request.

use std::time::{Duration, Instant};

use crate::agent::scene::Scene;
use crate::support::{output, program, until};
use serde_json::json;

/// A release build needs less than 5 ms. This is a debug build, and other tests run beside it.
const SOON: Duration = Duration::from_millis(40);

#[test]
fn the_first_request_comes_soon_after_the_start() {
    let scene = Scene::new();
    let after = until("the first request comes soon", || {
        let began = Instant::now();
        output(scene.agent(&[]).arg(r#"x @@[{"text":"ok"}]"#)).ok();
        Some(scene.turns().last().unwrap().at - began).filter(|after| *after < SOON)
    });
    eprintln!("the first request after {after:?}");
}

#[test]
fn a_turn_with_tools_takes_little_memory() {
    let scene = Scene::new();
    // The agent is the parent of its shell.
    let look = "awk '/RssAnon/ { print $2 }' /proc/$PPID/status";
    let bash = |command: &str| json!({"tool": "Bash", "input": {"command": command}});
    let steps = json!([bash("seq 100000"), {"tool": "Glob", "input": {"pattern": "**/*"}}, bash(look)]);
    let kib = scene.begin(&format!("x @@{steps}")).ok().result()["result"].as_str().unwrap().parse::<u64>().unwrap();
    eprintln!("{kib} KiB of memory of its own");
    assert!(kib < 8 << 10, "{kib} KiB");
}

#[test]
fn the_four_small_programs_do_not_contain_the_client() {
    for name in ["ask-post", "ask-answer", "checkpoint", "relaunch"] {
        let bytes = std::fs::read(program(name)).unwrap();
        let has = |words: &[u8]| bytes.windows(words.len()).any(|window| window == words);
        assert!(!has(b"ask-agent/0") && !has(b"ureq-proto"), "{name}");
    }
    let bytes = std::fs::read(program("ask-agent")).unwrap();
    assert!(bytes.windows(10).any(|window| window == b"ureq-proto"), "the words that are looked for are those that the client has");
}
