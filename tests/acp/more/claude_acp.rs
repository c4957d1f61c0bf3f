//! claude by the adapter `claude-agent-acp`.

use serde_json::{Value, json};

use super::{ANY_COMMAND, ask_user, scene};
use crate::acp::scene::{Killed, OVERNIGHT, OWN_TOOL, Scene};

/// `more` are further keys of the runner.
fn claude_acp(more: &str) -> Scene {
    scene("claude-acp", |_, api| {
        format!(
            "env = {{ ANTHROPIC_BASE_URL = \"{}\", ANTHROPIC_API_KEY = \"dummy\", \
             CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC = \"1\" }}\n{more}",
            api.root_url()
        )
    })
}

fn shell(command: &str) -> Value {
    json!({"tool": "Bash", "input": {"command": command, "description": "a command"}})
}

#[test]
#[ignore = "tests/run agents runs it"]
fn claude_acp_asks_and_comes_back_with_the_answer() {
    claude_acp(ANY_COMMAND).asks_and_comes_back(shell);
}

#[test]
#[ignore = "tests/run agents runs it"]
fn a_call_of_claude_acp_waits_overnight_and_runs_once() {
    claude_acp(OVERNIGHT).waits_overnight_for_a_permission(shell);
}

#[test]
#[ignore = "tests/run agents runs it"]
fn claude_acp_that_was_killed_at_work_goes_on() {
    claude_acp(ANY_COMMAND).is_killed_at_work(shell, Killed::Agent);
}

#[test]
#[ignore = "tests/run agents runs it"]
fn claude_acp_whose_supervisor_was_killed_goes_on() {
    claude_acp(ANY_COMMAND).is_killed_at_work(shell, Killed::Supervisor);
}

#[test]
#[ignore = "tests/run agents runs it"]
fn claude_acp_asks_with_a_tool_of_askbox() {
    claude_acp("allowed_tools = []").asks_with_a_tool_of_askbox(&ask_user("mcp__askbox__ask_user"), OWN_TOOL);
}
