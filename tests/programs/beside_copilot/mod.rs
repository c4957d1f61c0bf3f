//! The permissions of Copilot's sessions. The real extension runs in Node, and a script plays Copilot. `tests/acp/attended_copilot` does the
//! same with the real Copilot.

use std::process::Stdio;
use std::time::Instant;

use serde_json::{Value, json};

use crate::programs::beside_opencode::{Talk, allows, closed, waiting, why};
use crate::support::{World, needs, root, until, was_told};
use askbox_run::asking::receipt::NOT_KNOWN_YET;

pub(crate) fn world() -> World {
    let world = World::with_home_apart();
    world.configure("[live]\nexperimental_copilot = true\ngrace = \"0s\"\n");
    world.make_mailbox();
    world
}

/// Copilot with the extension, as `askbox setup` writes it.
fn copilot(world: &World, env: &[(&str, &str)]) -> Talk {
    let module = world.path("extension/node_modules/@github/copilot-sdk");
    std::fs::create_dir_all(&module).unwrap();
    let extension = world.path("extension/extension.mjs");
    std::fs::copy(root().join("src/commands/setup/copilot.mjs"), &extension).unwrap();
    std::fs::copy(root().join("tests/programs/beside_copilot/copilot.mjs"), module.join("extension.mjs")).unwrap();
    std::fs::write(module.join("package.json"), r#"{"exports": {"./extension": "./extension.mjs"}}"#).unwrap();
    let mut node = world.any_command(world.sh("command -v node").trim());
    node.arg(extension).current_dir(world.work()).env("PATH", world.path_with_programs()).envs(env.iter().copied());
    Talk::start(node.stderr(Stdio::inherit()))
}

pub(crate) fn loaded(world: &World) -> Talk {
    let mut copilot = copilot(world, &[]);
    assert_eq!(copilot.hear().unwrap(), json!({"handler": "no-result"}), "the extension decides nothing by itself");
    copilot
}

/// The call of a tool begins, and its permission is asked for.
pub(crate) fn asks(copilot: &mut Talk, id: &str, kind: &str, command: &str) {
    let call = format!("call_{id}");
    let input = json!({"command": command, "description": "does it"});
    copilot.tell(&json!({"type": "tool.execution_start", "data": {"toolCallId": call, "toolName": "bash", "arguments": input}}));
    let request = json!({"kind": kind, "toolCallId": call, "fullCommandText": command, "intention": "does it"});
    copilot.tell(&json!({"type": "permission.requested", "data": {"requestId": id, "permissionRequest": request}}));
}

fn nobody_waits(world: &World) -> bool {
    world.processes("live copilot").is_empty()
}

#[test]
fn a_permission_that_ends_at_copilots_terminal_is_withdrawn() {
    needs!("node");
    let world = world();
    let mut copilot = loaded(&world);
    asks(&mut copilot, "r-1", "shell", "touch a");
    let first = waiting(&world);
    asks(&mut copilot, "r-2", "shell", "touch b");
    until("both wait", || world.names("pending").len() == 2);
    copilot.tell(&json!({"terminal": "r-1"}));
    assert!(why(&closed(&world, &first, "withdrawn")).contains("at its terminal"));
    assert!(!nobody_waits(&world), "the other dialog is open");
    drop(copilot);
    until("the other one is withdrawn, because Copilot was killed", || world.names("pending").is_empty());
    until("nobody waits", || nobody_waits(&world));
}

#[test]
fn what_copilot_does_not_confirm_is_not_known_yet() {
    needs!("node");
    let world = world();
    let mut copilot = loaded(&world);
    for (n, takes) in ["late", "otherwise", "by_a_person", "never"].into_iter().enumerate() {
        copilot.tell(&json!({"takes": takes}));
        asks(&mut copilot, &format!("r-{n}"), "shell", "touch a");
        let id = waiting(&world);
        let sent_at = Instant::now();
        let sender = allows(&world, &id);
        copilot.hear().unwrap();
        if takes == "late" {
            assert!(was_told(sender.code(), sent_at), "its sender is told");
            let end = closed(&world, &id, "superseded");
            assert!(why(&end).contains("it came too late"), "{takes}: {end}");
        } else {
            assert!(sender.code() == 0 && sender.stdout.contains(NOT_KNOWN_YET), "{takes}: {}", sender.words());
            assert_eq!(world.status(&id)["state"], "sent", "{takes}");
        }
    }
    drop(copilot);
    for id in world.names("running").iter().filter_map(|name| name.split('.').next()) {
        world.ok("relaunch", &["drop", id]);
    }
}

#[test]
fn a_request_of_copilot_in_another_form_gets_no_reply() {
    needs!("node");
    let world = world();
    let mut copilot = loaded(&world);
    asks(&mut copilot, "r-1", "extension-management", "touch a");
    let untold: Value =
        json!({"requestId": "r-2", "permissionRequest": {"kind": "shell", "toolCallId": "call_0", "fullCommandText": "ls"}});
    copilot.tell(&json!({"type": "permission.requested", "data": untold}));
    copilot.tell(&json!({"type": "user_input.requested", "data": {"requestId": "r-3", "question": "Merge?"}}));
    asks(&mut copilot, "r-4", "shell", "touch b");
    let id = waiting(&world);
    assert_eq!(world.names("pending").len(), 1);
    assert_eq!(allows(&world, &id).code(), 0);
    assert_eq!(copilot.hear().unwrap()["requestId"], "r-4");
    let told: Vec<_> = world.audited().into_iter().filter(|entry| entry["event"] == "dialog_not_asked").collect();
    assert!(told.len() == 2 && told.iter().all(|entry| entry["by"] == "askbox live copilot"), "{told:?}");
}

#[test]
fn runs_and_people_without_the_experiment_meet_no_extension() {
    needs!("node");
    let world = world();
    let mut of_run = copilot(&world, &[("ASKBOX_RUN", "w 1 2")]);
    assert_eq!(of_run.hear(), None, "it does not join the session");
    world.reconfigure("experimental_copilot = true", "opencode = true");
    let mut off = Talk::start(world.command("askbox").args(["live", "copilot"]));
    assert_eq!(off.hear(), None, "it ends by itself");
    assert!(world.names("pending").is_empty());
}

mod promises {
    use super::*;

    #[test]
    fn the_extension_gives_copilot_the_answer_and_rests() {
        needs!("node");
        let world = world();
        let mut copilot = loaded(&world);
        assert!(nobody_waits(&world), "nothing runs without a dialog");
        asks(&mut copilot, "r-1", "shell", "touch a");
        let id = waiting(&world);
        let question = world.document(&format!("pending/{id}.json"));
        assert!(
            question["live"]["program"] == "copilot" && question["live"]["session"] == "a965bd4c-c2c2-4b24-989f-22f274774bd5",
            "{question}"
        );
        assert!(question["question"].as_str().unwrap().contains("command: touch a"), "{question}");
        let outcome = allows(&world, &id);
        assert_eq!(outcome.code(), 0, "{}", outcome.words());
        assert_eq!(copilot.hear().unwrap(), json!({"requestId": "r-1", "result": {"kind": "approve-once"}, "success": true}));
        closed(&world, &id, "delivered");
        until("the process beside it has ended", || nobody_waits(&world));
        asks(&mut copilot, "r-2", "shell", "touch b");
        let id = waiting(&world);
        world.ok("ask-answer", &["decline", &id, "--note", "use another name"]);
        let result = copilot.hear().unwrap()["result"].take();
        assert!(result["kind"] == "reject" && result["feedback"].as_str().unwrap().contains("use another name"), "{result}");
        closed(&world, &id, "delivered");
        asks(&mut copilot, "r-3", "shell", "touch c");
        let id = waiting(&world);
        world.ok("ask-answer", &["decline", &id, "--stop"]);
        assert_eq!(copilot.hear().unwrap()["result"], json!({"kind": "reject"}), "it ends the turn");
        closed(&world, &id, "delivered");
    }
}
