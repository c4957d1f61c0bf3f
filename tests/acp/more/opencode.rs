//! opencode.

use serde_json::{Value, json};

use super::{ANY_COMMAND, ask_user, scene, settings};
use crate::acp::scene::{Killed, OVERNIGHT, Scene};

/// `more` are further keys of the runner.
fn opencode(more: &str) -> Scene {
    scene("opencode", |world, api| {
        let model = json!({"name": "scripted", "tool_call": true, "limit": {"context": 200_000, "output": 8000}});
        let provider = json!({"npm": "@ai-sdk/openai-compatible", "name": "scripted", "models": {"scripted": model},
            "options": {"baseURL": api.url(), "apiKey": "dummy"}});
        let all = json!({"autoupdate": false, "share": "disabled", "model": "scripted/scripted", "small_model": "scripted/scripted",
            "permission": {"bash": "ask", "edit": "ask"}, "provider": {"scripted": provider}});
        settings(world, ".config/opencode/opencode.json", &all);
        format!(
            "env = {{ OPENCODE_DISABLE_MODELS_FETCH = \"1\", OPENCODE_DISABLE_LSP_DOWNLOAD = \"1\", \
             OPENCODE_DISABLE_DEFAULT_PLUGINS = \"1\" }}\n{more}"
        )
    })
}

fn shell(command: &str) -> Value {
    json!({"tool": "bash", "input": {"command": command, "description": "a command"}})
}

#[test]
#[ignore = "tests/run agents runs it"]
fn opencode_asks_and_comes_back_with_the_answer() {
    opencode(ANY_COMMAND).asks_and_comes_back(shell);
}

#[test]
#[ignore = "tests/run agents runs it"]
fn a_call_of_opencode_that_its_user_changed_is_made_anew() {
    opencode("").has_its_call_changed(shell);
}

#[test]
#[ignore = "tests/run agents runs it"]
fn a_call_of_opencode_waits_overnight_and_runs_once() {
    opencode(OVERNIGHT).waits_overnight_for_a_permission(shell);
}

#[test]
#[ignore = "tests/run agents runs it"]
fn opencode_that_was_killed_at_work_goes_on() {
    opencode(ANY_COMMAND).is_killed_at_work(shell, Killed::Agent);
}

#[test]
#[ignore = "tests/run agents runs it"]
fn opencode_killed_at_20_moments_repeats_nothing_unknowing() {
    opencode(ANY_COMMAND).is_killed_at_20_moments(shell, 3);
}

#[test]
#[ignore = "tests/run agents runs it"]
fn opencode_whose_supervisor_was_killed_goes_on() {
    opencode(ANY_COMMAND).is_killed_at_work(shell, Killed::Supervisor);
}

#[test]
#[ignore = "tests/run agents runs it"]
fn opencode_asks_with_a_tool_of_askbox() {
    opencode("allowed_tools = []").asks_with_a_tool_of_askbox(&ask_user("askbox_ask_user"), "");
}
