//! Agents that end or stay silent before they have a session.

use std::os::unix::fs::PermissionsExt;

use super::*;

/// A world whose agent is this shell script, and is tried once.
fn world_of(script: &str, kind: &str) -> World {
    let world = World::new();
    let program = world.path("agent.sh");
    fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    world.configure(&format!(
        "[relaunch]\nattempts = 1\n[limits]\nsilence = \"1s\"\ngrace = \"0s\"\n\
         [runner.agent]\nkind = \"{kind}\"\nprogram = \"{}\"\nworkflows = [\"*\"]\n",
        program.display()
    ));
    world
}

#[track_caller]
fn why(script: &str, kind: &str) -> String {
    let world = world_of(script, kind);
    let ended = world.run("relaunch", &["run", "-w", "w", "--prompt", "go"]);
    assert_eq!(ended.code(), 1, "{ended:?}");
    let status: Value = serde_json::from_str(&world.ok("relaunch", &["status", "--json", "w"])).unwrap();
    status["why"].as_str().unwrap().to_owned()
}

#[test]
fn an_agent_silent_at_initialize_is_told_with_its_words() {
    let script = "echo 'cannot reach the proxy' >&2; exec sleep 600";
    assert_eq!(why(script, "acp"), "the agent did not answer `initialize`; it was silent for limits.silence = 1s: cannot reach the proxy");
    assert_eq!(why(script, "claude"), "the agent's session did not begin; it was silent for limits.silence = 1s: cannot reach the proxy");
}

#[test]
fn an_agent_that_dies_at_once_is_told_with_its_last_words() {
    for kind in ["acp", "claude"] {
        for to in ["", " >&2"] {
            let why = why(&format!("echo 'loading' {to}; echo 'no license: run login' {to}; exit 3"), kind);
            assert_eq!(why, "the agent ended without a result (exit status: 3): no license: run login (attempt 1 of 1)", "{kind}{to}");
        }
    }
}
