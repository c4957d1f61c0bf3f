//! qwen, with the Node.js that it needs.

use serde_json::{Value, json};

use super::{ANY_COMMAND, ask_user, scene, settings};
use crate::acp::scene::{Killed, OVERNIGHT, OWN_TOOL, Scene};

/// `more` are further keys of the runner.
fn qwen(more: &str) -> Scene {
    scene("qwen", |world, api| {
        let all = json!({"tools": {"approvalMode": "default"}, "general": {"disableAutoUpdate": true},
            "security": {"auth": {"selectedType": "openai"}}, "privacy": {"usageStatisticsEnabled": false},
            "telemetry": {"enabled": false}});
        settings(world, ".qwen/settings.json", &all);
        format!("env = {{ OPENAI_API_KEY = \"dummy\", OPENAI_BASE_URL = \"{}\", OPENAI_MODEL = \"scripted\" }}\n{more}", api.url())
    })
}

fn shell(command: &str) -> Value {
    json!({"tool": "run_shell_command", "input": {"command": command, "is_background": false, "description": "a command"}})
}

#[test]
#[ignore = "tests/run agents runs it"]
fn qwen_asks_and_comes_back_with_the_answer() {
    qwen(ANY_COMMAND).asks_and_comes_back(shell);
}

#[test]
#[ignore = "tests/run agents runs it"]
fn a_call_of_qwen_waits_overnight_and_runs_once() {
    qwen(OVERNIGHT).waits_overnight_for_a_permission(shell);
}

#[test]
#[ignore = "tests/run agents runs it"]
fn qwen_that_was_killed_at_work_goes_on() {
    qwen(ANY_COMMAND).is_killed_at_work(shell, Killed::Agent);
}

#[test]
#[ignore = "tests/run agents runs it"]
fn qwen_whose_supervisor_was_killed_goes_on() {
    qwen(ANY_COMMAND).is_killed_at_work(shell, Killed::Supervisor);
}

#[test]
#[ignore = "tests/run agents runs it"]
fn qwen_asks_with_a_tool_of_askbox() {
    qwen("allowed_tools = []").asks_with_a_tool_of_askbox(&ask_user("mcp__askbox__ask_user"), OWN_TOOL);
}
