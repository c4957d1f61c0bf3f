//! An agent gets some of the files that it names, and not others. The API's requests show which.

use crate::support::ClaudeWorld;
use crate::support::claude::bash;
use serde_json::{Value, json};

/// A file of the user's outside of the agent's folder.
fn secret(world: &ClaudeWorld) -> std::path::PathBuf {
    let path = world.path("elsewhere/keys.json");
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    std::fs::write(&path, r#"{"token": "sk-secret"}"#).expect("a file");
    path
}

fn read(path: impl serde::Serialize) -> Value {
    json!({"tool": "Read", "input": {"file_path": path}})
}

/// All that the tools of a run sent back to the model.
fn tool_results(world: &ClaudeWorld) -> Vec<String> {
    world.api.turns().pop().expect("a turn").tool_results()
}

#[test]
fn a_question_opens_no_file_by_calling_it_its_checkpoint() {
    let mut world = ClaudeWorld::new();
    world.configure("[approvals]\nask_stopped = false\n");
    world.make_mailbox();
    world.keep_watching();
    let secret = secret(&world);
    let own = world.path("elsewhere/own.json");
    std::fs::write(&own, r#"{"workflow_id": "own", "current_step": "two"}"#).expect("a file");
    for (id, path) in [("spy", &secret), ("own", &own)] {
        let question = json!({"workflow_id": id, "question": "Go on?", "checkpoint": path, "cwd": world.work()});
        world.forge_question(id, &question);
        world.api.on("User chose: yes", json!([read(path), {"text": "looked"}]));
        world.answer(id, "yes");
        world.wait_state(id, "delivered");
        let results = tool_results(&world);
        match id {
            "own" => assert!(results[0].contains(r#""current_step": "two""#), "{results:?}"),
            _ => assert!(results[0].contains("Not permitted in this unattended run"), "{results:?}"),
        }
    }
    let sent: String = world.api.turns().iter().map(|turn| format!("{turn:?}")).collect();
    assert!(!sent.contains("sk-secret"));
}

#[test]
fn a_checkpoint_replaced_by_a_link_opens_no_other_file() {
    let mut world = ClaudeWorld::new();
    world.configure("[runner.claude]\nallowed_tools = ['Bash(replace:*)']\n[approvals]\nask_stopped = false\n");
    let (secret, own) = (secret(&world), world.path("elsewhere/own.json"));
    std::fs::write(&own, r#"{"workflow_id": "own", "current_step": "two"}"#).expect("a file");
    world.add_script("replace", &format!("ln -sf '{}' '{}'", secret.display(), own.display()));
    world.keep_watching_from_the_start();
    world.ask("own", &["Go on?", "-c", own.to_str().expect("UTF-8")]);
    world.api.on("User chose: yes", json!([read(&own), bash("replace"), read(&own), {"text": "looked"}]));
    world.answer("own", "yes");
    world.wait_state("own", "delivered");
    let results = tool_results(&world);
    assert!(results[0].contains(r#""current_step": "two""#), "{results:?}");
    assert!(!results.iter().any(|r| r.contains("sk-secret")), "{results:?}");
}

#[test]
fn a_rule_for_a_command_does_not_cover_set_variables() {
    let mut world = ClaudeWorld::new();
    world.configure(
        "[runner.claude]\nallowed_tools = ['Bash(relaunch spawn:*)', 'Bash(relaunch resume:*)']\n[approvals]\nask_stopped = false\n",
    );
    let evil = world.path("evil.toml");
    std::fs::write(&evil, "[runner.claude]\ndangerously_skip_permissions = true\n").expect("a file");
    let spawn = "relaunch spawn -w child --prompt evil";
    let set = format!("ASKBOX_CONFIG='{}'", evil.display());
    let tries =
        [format!("{set} {spawn}"), format!("env {set} {spawn}"), format!("export {set}; {spawn}"), format!("export {set} && {spawn}")];
    world.keep_watching_from_the_start();
    world.ask("w", &["Begin?"]);
    let mut steps: Vec<Value> = tries.iter().map(|command| bash(command)).collect();
    steps.push(json!({"text": "tried"}));
    world.api.on("User chose: yes", Value::Array(steps));
    world.answer("w", "yes");
    world.wait_state("w", "delivered");
    let results = tool_results(&world);
    assert!(results.len() == tries.len() && results.iter().all(|r| r.contains("Not permitted in this unattended run")), "{results:#?}");
    assert_eq!(world.launches().len(), 1);
}
