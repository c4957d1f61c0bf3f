//! pi by its adapter `pi-acp`, with the Node.js that it needs. It never asks for a permission.

use serde_json::{Value, json};

use super::{scene, settings};
use crate::acp::scene::{Killed, Scene};

/// `more` are further keys of the runner.
fn pi(more: &str) -> Scene {
    scene("pi", |world, api| {
        let models = json!({"providers": {"scripted": {"baseUrl": api.url(), "api": "openai-completions", "apiKey": "dummy",
            "models": [{"id": "scripted"}]}}});
        settings(world, ".pi/agent/models.json", &models);
        let all = json!({"defaultProvider": "scripted", "defaultModel": "scripted", "quietStartup": true});
        settings(world, ".pi/agent/settings.json", &all);
        format!("env = {{ PI_OFFLINE = \"1\" }}\n{more}")
    })
}

fn shell(command: &str) -> Value {
    json!({"tool": "bash", "input": {"command": command}})
}

#[test]
#[ignore = "tests/run agents runs it"]
fn pi_asks_and_comes_back_with_the_answer() {
    pi("").asks_and_comes_back(shell);
}

#[test]
#[ignore = "tests/run agents runs it"]
fn pi_that_was_killed_at_work_goes_on() {
    pi("").is_killed_at_work(shell, Killed::Agent);
}

#[test]
#[ignore = "tests/run agents runs it"]
fn pi_whose_supervisor_was_killed_goes_on() {
    pi("").is_killed_at_work(shell, Killed::Supervisor);
}
