//! The API refuses, breaks off, or is not there; arguments and sessions that do not exist.

use crate::agent::scene::{SESSION, Scene};
use crate::support::output;
use serde_json::json;

#[test]
fn an_overloaded_api_is_asked_again_after_the_pause_it_asks_for() {
    let scene = Scene::new();
    let steps = json!([{"status": 529, "retry_after": 0}, {"cut": true, "text": "half"}, {"text": "done"}]);
    let outcome = scene.begin(&format!("x @@{steps}")).ok();
    let retries: Vec<_> = outcome.events().into_iter().filter(|event| event["subtype"] == "api_retry").collect();
    assert_eq!((retries.len(), &retries[0]["error_status"], &retries[1]["error_status"]), (2, &json!(529), &json!(null)));
    assert_eq!(outcome.result()["result"], "done");
    assert_eq!(scene.turns()[2].assistant_text(), "", "half a reply is void");
}

#[test]
fn an_error_in_any_form_is_told_and_passes() {
    let scene = Scene::new();
    let errors = ["\"overloaded\"", "[1]", "7", "{\"error\": \"x\"}", "{\"error\": []}", "<html>", ""];
    let mut steps: Vec<_> = errors.iter().map(|body| json!({"status": 529, "retry_after": 0, "body": body})).collect();
    steps.push(json!({"text": "done"}));
    let outcome = scene.begin(&format!("x @@{}", json!(steps))).ok();
    assert_eq!(outcome.result()["result"], "done");
    assert_eq!(scene.turns().len(), errors.len() + 1);
}

#[test]
fn a_pause_beyond_the_limit_and_a_wrong_key_end_clearly() {
    for (step, words) in [
        (json!({"status": 429, "retry_after": 90}), "API Error: 429 rate_limit_error: scripted (the API asks to wait 90 s)"),
        (json!({"status": 401}), "API Error: 401 authentication_error: scripted"),
    ] {
        let scene = Scene::new();
        let outcome = scene.begin(&format!("x @@{}", json!([step, {"text": "done"}])));
        let result = outcome.result();
        assert_eq!((outcome.code(), &result["terminal_reason"], &result["result"]), (1, &json!("api_error"), &json!(words)));
        assert_eq!(scene.turns().len(), 1);
        assert_eq!(scene.go_on().ok().result()["result"], "done", "the next process asks again");
    }
}

#[test]
fn what_is_missing_is_said_in_one_line() {
    let scene = Scene::new();
    let words = |command: &mut std::process::Command| {
        let outcome = output(command);
        assert!(!outcome.status.success() && outcome.stdout.is_empty(), "{outcome:?}");
        outcome.stderr
    };
    let no_key = words(scene.agent(&["x"]).env_remove("ANTHROPIC_API_KEY").env_remove("ANTHROPIC_BASE_URL"));
    assert!(no_key.contains("there is no key") && no_key.contains("hint: set ANTHROPIC_API_KEY"), "{no_key}");
    assert!(words(&mut scene.agent(&["--resume", SESSION])).contains("No conversation found with session ID"));
    scene.begin(r#"x @@[{"text":"ok"}]"#).ok();
    assert!(words(&mut scene.agent(&["x", "--session-id", SESSION])).contains("is already in use"));
    assert!(words(&mut scene.agent(&["x", "--agent", "nobody"])).contains("there is no agent `nobody`"));
    std::fs::create_dir_all(scene.path(".claude")).unwrap();
    std::fs::write(scene.path(".claude/settings.json"), "{").unwrap();
    assert!(
        words(&mut scene.agent(&["x"])).contains("settings.json is not JSON") || words(&mut scene.agent(&["x"])).contains("is not JSON")
    );
}

#[test]
fn a_limit_on_rounds_ends_the_turn() {
    let scene = Scene::new();
    let steps = json!([{"tool": "TodoWrite", "input": {"todos": []}}, {"text": "done"}]);
    let outcome = output(scene.agent(&["--max-turns", "1", "--output-format", "json"]).arg(format!("x @@{steps}")));
    assert_eq!((outcome.code(), &outcome.json()["subtype"]), (1, &json!("error_max_turns")));
}

#[test]
fn a_fork_leaves_the_original_and_a_rewound_session_forgets() {
    let scene = Scene::new();
    scene.begin(r#"x @@[{"text":"one"}]"#).ok();
    let before = std::fs::read(scene.transcript()).unwrap();
    let other = "1b0e4c6e-3c2f-4d4e-9d57-1f1f6a9a1c22";
    let args = ["--resume", SESSION, "--fork-session", "--session-id", other, "--output-format", "json"];
    let forked = output(scene.agent(&args).arg(r#"y @@[{"text":"two"}]"#)).ok().json();
    assert_eq!((&forked["session_id"], &forked["result"]), (&json!(other), &json!("two")));
    assert_eq!((scene.turns()[1].messages().len(), std::fs::read(scene.transcript()).unwrap()), (3, before));
    let first: serde_json::Value =
        serde_json::from_str(std::fs::read_to_string(scene.transcript()).unwrap().lines().next().unwrap()).unwrap();
    let at = first["uuid"].as_str().unwrap();
    output(scene.agent(&["--resume", SESSION, "--resume-session-at", at]).arg(r#"z @@[{"text":"three"}]"#)).ok();
    assert_eq!((scene.turns()[2].messages().len(), scene.turns()[2].assistant_text()), (1, String::new()));
}

mod promises {
    use super::*;

    /// The whole of a request but its marks for the cache begins with the whole of the one before.
    #[test]
    fn requests_grow_at_their_end_only_also_over_processes() {
        let scene = Scene::new();
        let steps = json!([{"tool": "Bash", "input": {"command": "echo é", "z": 1.50, "a": null}}, {"tool": "Read", "input": {"file_path": "none"}}, {"text": "one"}]);
        scene.begin(&format!("x @@{steps}")).ok();
        output(scene.agent(&["--resume", SESSION]).arg(r#"y @@[{"text":"two"}]"#)).ok();
        let bare = |request: &crate::support::claude::api::Request| {
            let text = request.body.to_string().replace(r#","cache_control":{"type":"ephemeral"}"#, "");
            text.split_once(r#","stream":true"#).unwrap().0.trim_end_matches(']').to_owned()
        };
        let turns = scene.turns();
        for pair in turns.windows(2) {
            assert!(bare(&pair[1]).starts_with(&bare(&pair[0])), "{}\n{}", bare(&pair[0]), bare(&pair[1]));
            assert!(pair[1].body.to_string().matches("cache_control").count() == 4);
        }
        assert_eq!(turns.len(), 4);
    }
}
