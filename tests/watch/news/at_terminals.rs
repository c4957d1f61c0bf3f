//! Dialogs at the terminals of Kimi and Gemini: told once after the grace time, as long as they wait.

use std::fs;

use serde_json::{Value, json};

use super::{records, told, words, world_with_desk};
use crate::support::{Running, World, until};

const LIVE: &str = "[live]\nnews = [\"kimi\", \"gemini\"]\ngrace = ";

fn tell(world: &World, name: &str, id: &str) {
    let event = json!({"hook_event_name": name, "session_id": "session_1", "cwd": "/work/docs", "id": id, "tool_name": "Bash",
        "action": "Running: touch f1", "display": {"kind": "command", "command": "touch f1"}});
    world.run_with("askbox", &["hook", "--from", "kimi"], event.to_string().as_bytes()).ok();
}

/// Changes the file of the only dialog.
fn change(world: &World, change: impl FnOnce(&mut Value)) {
    let [name] = &world.names("dialogs")[..] else { panic!("one dialog") };
    let path = world.in_mailbox("dialogs").join(name);
    let mut dialog = world.json(&path);
    change(&mut dialog);
    fs::write(path, dialog.to_string()).unwrap();
}

#[test]
fn a_dialog_that_ends_within_its_grace_disturbs_nobody() {
    let world = world_with_desk("work", &format!("{LIVE}\"1h\""));
    let _watcher = world.watch();
    tell(&world, "PermissionRequest", "approval_1");
    until("it would be told", || records(&world, "desk").len() == 1);
    tell(&world, "PermissionResult", "approval_1");
    until("it is over", || records(&world, "desk").is_empty());
    tell(&world, "PermissionRequest", "approval_2");
    until("it would be told", || records(&world, "desk").len() == 1);
    assert_eq!(words(&world), [] as [&str; 0]);
}

#[test]
fn a_dialog_of_a_killed_program_is_swept_and_not_told() {
    let world = world_with_desk("work", &format!("{LIVE}\"0s\""));
    let sleeper = Running::start(world.any_command("sleep").arg("600"));
    tell(&world, "PermissionRequest", "approval_1");
    change(&world, |dialog| dialog["process"] = json!({"pid": sleeper.pid()}));
    sleeper.kill();
    let _watcher = world.watch();
    until("its file is gone", || world.names("dialogs").is_empty());
    tell(&world, "PermissionRequest", "approval_2");
    until("the other one is told", || !words(&world).is_empty());
    assert_eq!(told(&world).len(), 1);
}

#[test]
fn only_targets_that_want_dialogs_are_told_of_terminals() {
    for (more, is_told) in [
        ("live = \"only\"", true),
        ("live = \"never\"", false),
        ("events = [\"asked\"]", false),
        ("events = [\"asked\", \"at_terminal\"]", true),
    ] {
        let world = world_with_desk("work", &format!("{LIVE}\"0s\"\n[notify]\ngrace = \"0s\""));
        world.reconfigure("[target.desk]", &format!("[target.desk]\n{more}"));
        let _watcher = world.watch();
        tell(&world, "PermissionRequest", "approval_1");
        if is_told {
            until("it is told", || words(&world) == ["at_terminal"]);
        } else {
            world.ok("ask-post", &["-w", "docs", "Merge?"]);
            until("the question is told", || words(&world) == ["asked docs"]);
        }
    }
}

mod promises {
    use super::*;

    #[test]
    fn a_dialog_at_a_terminal_is_told_once() {
        let world = world_with_desk("work", &format!("{LIVE}\"0s\""));
        let watcher = world.watch();
        tell(&world, "PermissionRequest", "approval_1");
        until("it is told", || words(&world) == ["at_terminal"]);
        let all = told(&world);
        let news = &all[0];
        assert_eq!((&news["title"], &news["text"]), (&json!("Kimi waits at its terminal"), &json!("Bash: touch f1 · docs")), "{news}");
        let of = |name: &str| news[name].as_str().unwrap_or_default();
        assert_eq!(["program", "session_id", "project", "tool", "asks"].map(of), ["kimi", "session_1", "docs", "Bash", "touch f1"]);
        assert!(news["workflow_id"].is_null() && news["since"].is_string(), "{news}");
        // A watcher that dies while it tells would tell it once more, with the same id.
        let is_sent = |name: &String| world.document(&format!("news/desk/{name}"))["events"][0]["state"] == "sent";
        until("it is on record", || records(&world, "desk").iter().any(is_sent));
        // Another watcher does not tell it again, but tells the next one.
        drop(watcher);
        let _watcher = world.watch();
        tell(&world, "PermissionRequest", "approval_2");
        until("the next one is told", || words(&world).len() == 2);
        tell(&world, "PermissionResult", "approval_1");
        tell(&world, "PermissionResult", "approval_2");
        until("nothing is on record", || records(&world, "desk").is_empty());
        world.ok("ask-post", &["-w", "docs", "Merge?"]);
        world.ok("ask-answer", &["docs", "yes"]);
        world.closed("docs", "delivered", 1);
        assert_eq!(words(&world).iter().filter(|word| *word == "at_terminal").count(), 2);
    }
}
