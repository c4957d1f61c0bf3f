//! The real plugin, in Node. A script plays opencode.

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::process::Stdio;

use serde_json::{Value, json};

use super::{Talk, allows, closed, command, waiting, why, world};
use crate::support::files::write_program;
use crate::support::{World, needs, program, root, until};

/// opencode with the plugin, as `askbox setup` writes it.
fn opencode(world: &World, env: &[(&str, &str)]) -> Talk {
    let plugin = world.path("askbox.mjs");
    std::fs::copy(root().join("src/commands/setup/opencode.js"), &plugin).unwrap();
    let mut node = world.any_command(world.sh("command -v node").trim());
    node.arg(root().join("tests/programs/beside_opencode/opencode.mjs")).arg(plugin).current_dir(world.work());
    node.env("PATH", world.path_with_programs()).envs(env.iter().copied()).stderr(Stdio::inherit());
    Talk::start(&mut node)
}

fn loaded(world: &World) -> Talk {
    let mut opencode = opencode(world, &[]);
    assert_eq!(opencode.hear().unwrap(), json!({"hooks": ["event"]}));
    opencode
}

/// No process waits beside a dialog.
fn nobody_waits(world: &World) -> bool {
    world.processes("live opencode").is_empty()
}

#[test]
fn the_plugin_tells_of_dialogs_that_end_at_the_terminal() {
    needs!("node");
    let world = world();
    let mut opencode = loaded(&world);
    opencode.tell(&command("per_1", "touch a"));
    let first = waiting(&world);
    opencode.tell(&command("per_2", "touch b"));
    until("both wait", || world.names("pending").len() == 2);
    opencode.tell(&json!({"terminal": "per_1"}));
    assert!(why(&closed(&world, &first, "withdrawn")).contains("at its terminal"));
    assert!(!nobody_waits(&world), "the other dialog is open");
    drop(opencode);
    until("the other one is withdrawn, because opencode was killed", || world.names("pending").is_empty());
    until("nobody waits", || nobody_waits(&world));
}

#[test]
fn the_plugin_leaves_a_dialog_alone_if_askbox_fails() {
    needs!("node");
    let world = world();
    let mut run = opencode(&world, &[("ASKBOX_RUN", "w 1 2")]);
    assert_eq!(run.hear().unwrap(), json!({"hooks": []}), "it is a run of askbox");
    // A program that fails, and none at all.
    let bin = world.path("bin");
    std::fs::create_dir_all(&bin).unwrap();
    let started = world.path("started");
    write_program(&bin.join("askbox"), &format!("#!/bin/sh\necho >> '{}'\nexit 1\n", started.display()));
    let mut broken = opencode(&world, &[("PATH", bin.to_str().unwrap())]);
    broken.hear().unwrap();
    broken.tell(&command("per_1", "touch a"));
    until("askbox was started", || started.exists());
    std::fs::remove_file(bin.join("askbox")).unwrap();
    broken.tell(&command("per_2", "touch b"));
    broken.tell(&json!({"terminal": "per_1"}));
    broken.tell(&json!({"terminal": "per_2"}));
    until("the dialogs have ended", || broken.is_idle());
    // The next dialog is held again, without a restart.
    std::os::unix::fs::symlink(program("askbox"), bin.join("askbox")).unwrap();
    broken.tell(&command("per_3", "touch c"));
    let question = world.document(&format!("pending/{}.json", waiting(&world)));
    assert!(question["question"].as_str().unwrap().contains("touch c"));
}

/// A line for the plugin, and its reply, by the socket that is there.
fn calls(world: &World, line: &Value) -> Value {
    let folder = world.home().join(".local/state/askbox/opencode");
    let socket = until("the socket", || std::fs::read_dir(&folder).ok()?.next()?.ok()).path();
    let mut stream = UnixStream::connect(socket).unwrap();
    writeln!(stream, "{line}").unwrap();
    serde_json::from_reader(stream).unwrap()
}

#[test]
fn the_plugin_tells_of_its_sessions_without_thinking() {
    needs!("node");
    let world = world();
    let mut opencode = loaded(&world);
    let sessions = || calls(&world, &json!({}))["data"].clone();
    assert_eq!(sessions(), json!([]), "nothing was at work here");
    for session in ["ses_1", "ses_2"] {
        let status = json!({"sessionID": session, "status": {"type": "busy"}});
        opencode.tell(&json!({"event": "session.status", "request": status, "at_work": {"ses_1": {"type": "busy"}}}));
    }
    let listed = until("the session is at work", || sessions().as_array().filter(|all| !all.is_empty()).cloned());
    assert_eq!(listed.len(), 1, "a subagent is not listed: {listed:?}");
    assert_eq!((&listed[0]["id"], &listed[0]["works"], &listed[0]["waits"]), (&json!("ses_1"), &json!(true), &json!(false)));
    let mut of_subagent = command("per_1", "touch a");
    of_subagent["request"]["sessionID"] = "ses_2".into();
    opencode.tell(&of_subagent);
    until("its subagent asks", || sessions()[0]["waits"] == true);
    let told = calls(&world, &json!({"method": "get", "path": "/session/ses_1/message?limit=1"}));
    assert_eq!((&told["status"], &told["data"][1]), (&json!(200), &json!("/session/ses_1/message?limit=1")));
    assert!(told["data"][0]["parts"][0].is_null(), "{told}");
    assert_eq!(told["data"][0]["parts"][1]["text"].as_str().map(|text| text.chars().count()), Some(20_000));
    assert_eq!(calls(&world, &json!({"method": "no such", "path": "/"}))["status"], 0);
}

#[test]
fn a_dialog_of_a_stopped_turn_is_taken_away() {
    needs!("node");
    let world = world();
    let mut opencode = loaded(&world);
    opencode.tell(&command("per_1", "touch a"));
    let id = waiting(&world);
    opencode.tell(&json!({"event": "session.idle", "request": {"sessionID": "ses_2"}}));
    opencode.tell(&json!({"event": "session.idle", "request": {"sessionID": "ses_1"}}));
    assert_eq!(opencode.hear().unwrap(), json!({"url": "/permission/per_1/reply", "body": {"reply": "reject"}, "status": 200}));
    closed(&world, &id, "withdrawn");
    until("nobody waits", || nobody_waits(&world));
}

mod promises {
    use super::*;

    #[test]
    fn the_plugin_gives_opencode_the_answer_and_rests() {
        needs!("node");
        let world = world();
        let mut opencode = loaded(&world);
        assert!(nobody_waits(&world), "nothing runs without a dialog");
        let mut of_subagent = command("per_1", "touch a");
        of_subagent["request"]["sessionID"] = "ses_2".into();
        opencode.tell(&of_subagent);
        let id = waiting(&world);
        let question = world.document(&format!("pending/{id}.json"));
        assert_eq!(question["live"]["agent"], "general", "{question}");
        let outcome = allows(&world, &id);
        assert_eq!(outcome.code(), 0, "{}", outcome.words());
        assert_eq!(opencode.hear().unwrap(), json!({"url": "/permission/per_1/reply", "body": {"reply": "once"}, "status": 200}));
        closed(&world, &id, "delivered");
        until("the process beside it has ended", || nobody_waits(&world));
    }
}
