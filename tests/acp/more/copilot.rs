//! GitHub's copilot, with a model of its own in place of a login.

use serde_json::{Value, json};

use super::{ANY_COMMAND, scene};
use crate::acp::scene::{Killed, OVERNIGHT, Scene};

/// `more` are further keys of the runner.
fn copilot(more: &str) -> Scene {
    scene("copilot", |_, api| {
        format!(
            "env = {{ COPILOT_PROVIDER_BASE_URL = \"{}\", COPILOT_PROVIDER_API_KEY = \"dummy\", COPILOT_MODEL = \"gpt-5.4\", \
             COPILOT_PROVIDER_WIRE_API = \"responses\", COPILOT_OFFLINE = \"true\" }}\n{more}",
            api.url()
        )
    })
}

fn shell(command: &str) -> Value {
    json!({"tool": "bash", "input": {"command": command, "description": "a command", "mode": "sync"}})
}

#[test]
#[ignore = "tests/run agents runs it"]
fn copilot_asks_and_comes_back_with_the_answer() {
    copilot(ANY_COMMAND).asks_and_comes_back(shell);
}

#[test]
#[ignore = "tests/run agents runs it"]
fn a_call_of_copilot_waits_overnight_and_runs_once() {
    copilot(OVERNIGHT).waits_overnight_for_a_permission(shell);
}

#[test]
#[ignore = "tests/run agents runs it"]
fn copilot_that_was_killed_at_work_goes_on() {
    copilot(ANY_COMMAND).is_killed_at_work(shell, Killed::Agent);
}

#[test]
#[ignore = "tests/run agents runs it"]
fn copilot_whose_supervisor_was_killed_goes_on() {
    copilot(ANY_COMMAND).is_killed_at_work(shell, Killed::Supervisor);
}
