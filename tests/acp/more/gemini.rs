//! gemini.

use serde_json::{Value, json};

use super::{OVERNIGHT, ask_user, scene, settings};
use crate::scene::{Killed, Scene};

/// `more` are further keys of the runner.
fn gemini(more: &str) -> Scene {
    scene("gemini", |world, api| {
        let all = json!({"security": {"auth": {"selectedType": "gemini-api-key"}},
            "general": {"enableAutoUpdate": false, "sessionRetention": {"enabled": false}},
            "privacy": {"usageStatisticsEnabled": false}, "telemetry": {"enabled": false}});
        settings(world, ".gemini/settings.json", &all);
        // Without a model of the person's choice it asks another model first.
        format!(
            "args = [\"--acp\", \"-m\", \"gemini-2.5-pro\"]\nenv = {{ GEMINI_API_KEY = \"dummy\", GOOGLE_GEMINI_BASE_URL = \"{}\", \
             GEMINI_CLI_TRUST_WORKSPACE = \"true\" }}\n{more}",
            api.root_url()
        )
    })
}

fn shell(command: &str) -> Value {
    json!({"tool": "run_shell_command", "input": {"command": command, "description": "a command"}})
}

#[test]
#[ignore = "tests/run agents runs it"]
fn gemini_asks_and_comes_back_with_the_answer() {
    gemini("mode = \"yolo\"").asks_and_comes_back(shell);
}

#[test]
#[ignore = "tests/run agents runs it"]
fn a_call_of_gemini_waits_overnight_and_runs_once() {
    gemini(OVERNIGHT).waits_overnight_for_a_permission(shell);
}

#[test]
#[ignore = "tests/run agents runs it"]
fn gemini_that_was_killed_at_work_goes_on() {
    gemini("mode = \"yolo\"").is_killed_at_work(shell, Killed::Agent);
}

#[test]
#[ignore = "tests/run agents runs it"]
fn gemini_whose_supervisor_was_killed_goes_on() {
    gemini("mode = \"yolo\"").is_killed_at_work(shell, Killed::Supervisor);
}

#[test]
#[ignore = "tests/run agents runs it"]
fn gemini_asks_with_a_tool_of_askbox() {
    gemini("mode = \"yolo\"").asks_with_a_tool_of_askbox(&ask_user("mcp_askbox_ask_user"), "");
}
