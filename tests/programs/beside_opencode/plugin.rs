//! The real plugin, in Node. A script plays opencode.

use std::process::Stdio;

use serde_json::json;

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
