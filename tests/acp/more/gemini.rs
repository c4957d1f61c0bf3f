//! gemini.

use serde_json::{Value, json};

use super::{ANY_COMMAND, ask_user, scene, settings};
use crate::acp::scene::{Killed, OVERNIGHT, Scene};
use crate::support::until;

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
    gemini(ANY_COMMAND).asks_and_comes_back(shell);
}

#[test]
#[ignore = "tests/run agents runs it"]
fn a_call_of_gemini_waits_overnight_and_runs_once() {
    gemini(OVERNIGHT).waits_overnight_for_a_permission(shell);
}

#[test]
#[ignore = "tests/run agents runs it"]
fn gemini_that_was_killed_at_work_goes_on() {
    gemini(ANY_COMMAND).is_killed_at_work(shell, Killed::Agent);
}

#[test]
#[ignore = "tests/run agents runs it"]
fn gemini_whose_supervisor_was_killed_goes_on() {
    gemini(ANY_COMMAND).is_killed_at_work(shell, Killed::Supervisor);
}

#[test]
#[ignore = "tests/run agents runs it"]
fn gemini_asks_with_the_tool_by_its_second_name() {
    // Over ACP it takes no tool with the name of its own `ask_user`.
    let scene = gemini("mode = \"yolo\"");
    let look = json!({"tool": "mcp_askbox_list_questions", "input": {}});
    scene.api.on("look and ask", json!([look, ask_user("mcp_askbox_ask_user"), ask_user("mcp_askbox_ask_person"), {"text": "Thank you."}]));
    let _watcher = scene.world.watch();
    scene.spawns("look and ask");
    until("it asks", || scene.world.in_mailbox("pending/job.json").exists());
    scene.world.ok("ask-answer", &["job", "keep"]);
    until("the run is over", || scene.world.status("job")["result"] == "Thank you.");
    let told = scene.api.told().pop().unwrap().join("\n");
    assert!(
        told.contains("no question waits") && told.contains("\\\"mcp_askbox_ask_user\\\" not found") && told.contains("keep"),
        "{told}"
    );
}
