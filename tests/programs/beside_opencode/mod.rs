//! The dialogs of opencode's sessions. The test plays the plugin and speaks with `askbox live opencode`; in `plugin.rs`, the real plugin runs
//! in Node, and a script plays opencode. `tests/acp/attended_opencode` does the same with the real opencode.

mod plugin;

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Instant;

use serde_json::{Value, json};

use crate::support::{Outcome, World, until, was_told};
use askbox_run::asking::receipt::NOT_KNOWN_YET;

pub(crate) fn world() -> World {
    let world = World::with_home_apart();
    world.configure("[live]\nopencode = true\ngrace = \"0s\"\n");
    world.make_mailbox();
    world
}

/// A process that waits beside the dialogs, or that plays opencode.
pub(crate) struct Talk {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl Talk {
    pub(crate) fn start(command: &mut std::process::Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        let (sender, lines) = channel();
        std::thread::spawn(move || output.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
        Self { child, input, lines }
    }

    pub(crate) fn live(world: &World) -> Self {
        Self::start(world.command("askbox").args(["live", "opencode"]))
    }

    pub(crate) fn tell(&mut self, line: &Value) {
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
    }

    /// The next line. `None` if the process has ended.
    pub(crate) fn hear(&mut self) -> Option<Value> {
        self.lines.recv().ok().map(|line| serde_json::from_str(&line).unwrap())
    }

    /// The lines that have come, without waiting for one.
    pub(crate) fn heard(&self) -> Vec<String> {
        self.lines.try_iter().collect()
    }

    /// The script that plays opencode has handled all lines.
    fn is_idle(&mut self) -> bool {
        let idle = json!({"idle": true});
        self.tell(&idle);
        self.hear() == Some(idle)
    }

    /// opencode has ended: nothing more is told.
    fn hang_up(&mut self) {
        self.input = None;
    }

    fn ends(&mut self) {
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Talk {
    fn drop(&mut self) {
        self.input = None;
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A permission for a command, with the part of the session's message that makes the call.
pub(crate) fn command(id: &str, words: &str) -> Value {
    json!({
        "event": "permission.asked",
        "request": {
            "id": id, "sessionID": "ses_1", "permission": "bash", "patterns": [words], "metadata": {"command": words}, "always": ["touch *"],
            "tool": {"messageID": format!("msg_{id}"), "callID": format!("call_{id}")},
        },
        "part": {
            "type": "tool", "callID": format!("call_{id}"), "tool": "bash",
            "state": {"status": "running", "input": {"command": words, "description": "does it"}},
        },
    })
}

/// The same as the plugin tells it.
pub(crate) fn asked(world: &World, request: Value) -> Value {
    let session = json!({"id": "ses_1", "directory": world.work(), "title": "New session", "agent": "build"});
    let mut line = request;
    (line["type"], line["session"], line["root"]) = ("asked".into(), session.clone(), session);
    line
}

pub(crate) fn waiting(world: &World) -> String {
    let name = until("a question waits", || world.names("pending").first().cloned());
    name.trim_end_matches(".json").to_owned()
}

/// The arguments of `ask-answer` that allow the call.
fn to_allow(world: &World, id: &str) -> Vec<String> {
    let shown = world.ok("ask-answer", &["show", id]);
    let begin = format!("ask-answer {id} once --round ");
    let command = shown.lines().map(str::trim).find(|line| line.starts_with(&begin)).expect("the command to copy");
    command.split(' ').skip(1).map(str::to_owned).collect()
}

pub(crate) fn allows(world: &World, id: &str) -> Outcome {
    let words = to_allow(world, id);
    world.run("ask-answer", &words.iter().map(String::as_str).collect::<Vec<_>>())
}

pub(crate) fn closed(world: &World, id: &str, state: &str) -> Value {
    let end = until("the round is closed", || world.rounds("closed", id).pop());
    assert_eq!(end["closed"]["state"], state, "{end}");
    end
}

pub(crate) fn why(end: &Value) -> &str {
    end["closed"]["why"].as_str().unwrap_or_default()
}

pub(crate) fn replied(id: &str, status: u16) -> Value {
    json!({"type": "replied", "id": id, "status": status})
}

#[test]
fn a_command_of_opencode_is_allowed_once_in_the_mailbox() {
    let world = world();
    let mut live = Talk::live(&world);
    live.tell(&asked(&world, command("per_1", "touch qa")));
    let id = waiting(&world);
    let question = world.document(&format!("pending/{id}.json"));
    assert_eq!(question["live"]["program"], "opencode");
    assert!(question["question"].as_str().unwrap().contains("command: touch qa"), "{question}");
    assert_eq!(question["options"].as_object().map(|keys| keys.keys().cloned().collect::<Vec<_>>()), Some(vec!["once".to_owned()]));
    assert!(world.ok("ask-answer", &["list", "--filter", "is:live"]).contains(&id));
    assert_eq!(world.run("ask-answer", &[&id, "always"]).code(), 5, "only once is offered");
    assert_eq!(allows(&world, &id).code(), 0);
    assert_eq!(live.hear().unwrap(), json!({"id": "per_1", "path": "/permission/per_1/reply", "body": {"reply": "once"}}));
    assert!(world.rounds("closed", &id).is_empty(), "opencode has not taken it yet");
    live.tell(&replied("per_1", 200));
    closed(&world, &id, "delivered");
    live.hang_up();
    live.ends();
}

#[test]
fn a_refusal_reaches_opencode_with_its_words_or_ends_the_turn() {
    let world = world();
    let mut live = Talk::live(&world);
    live.tell(&asked(&world, command("per_1", "rm x")));
    let id = waiting(&world);
    world.ok("ask-answer", &["decline", &id, "--note", "use another name"]);
    let reply = live.hear().unwrap();
    assert_eq!(reply["body"]["reply"], "reject");
    assert!(reply["body"]["message"].as_str().unwrap().contains("use another name"), "{reply}");
    live.tell(&replied("per_1", 200));
    closed(&world, &id, "delivered");
    live.tell(&asked(&world, command("per_2", "rm y")));
    let id = waiting(&world);
    world.ok("ask-answer", &["decline", &id, "--stop"]);
    assert_eq!(live.hear().unwrap()["body"], json!({"reply": "reject"}));
    live.tell(&replied("per_2", 200));
    closed(&world, &id, "delivered");
}

#[test]
fn questions_of_opencode_are_answered_in_their_order() {
    let world = world();
    let mut live = Talk::live(&world);
    let options = json!([{"label": "merge, now", "description": "m"}, {"label": "keep", "description": "k"}]);
    let which = json!({"question": "Which?", "header": "Which", "options": options, "multiple": true});
    let why = json!({"question": "Why?", "header": "Why", "options": []});
    let ask = |id: &str, questions: Value| json!({"event": "question.asked", "request": {"id": id, "sessionID": "ses_1", "questions": questions}});
    live.tell(&asked(&world, ask("que_1", json!([which, why]))));
    let id = waiting(&world);
    let result = json!({"answers": {"Which?": ["merge, now", "keep"], "Why?": "it is time"}}).to_string();
    let said = world.run_with("ask-answer", &[&id, "--file", "-"], result.as_bytes());
    assert_eq!(said.code(), 0, "{}", said.words());
    let reply = live.hear().unwrap();
    assert_eq!(reply["path"], "/question/que_1/reply");
    assert_eq!(reply["body"], json!({"answers": [["merge, now", "keep"], ["it is time"]]}));
    live.tell(&replied("que_1", 200));
    closed(&world, &id, "delivered");
    live.tell(&asked(&world, ask("que_2", json!([which]))));
    let id = waiting(&world);
    world.ok("ask-answer", &["decline", &id, "--note", "later"]);
    let reply = live.hear().unwrap();
    assert!(reply["body"]["answers"][0][0].as_str().unwrap().contains("declined to answer"), "{reply}");
    live.tell(&replied("que_2", 200));
    closed(&world, &id, "delivered");
    live.tell(&asked(&world, ask("que_3", json!([which]))));
    let id = waiting(&world);
    world.ok("ask-answer", &["decline", &id, "--stop"]);
    assert_eq!(live.hear().unwrap()["path"], "/question/que_3/reject");
}

#[test]
fn opencode_that_is_gone_leaves_no_question() {
    let world = world();
    let mut live = Talk::live(&world);
    live.tell(&asked(&world, command("per_1", "ls")));
    let id = waiting(&world);
    live.hang_up();
    assert!(why(&closed(&world, &id, "withdrawn")).contains("session has ended"));
    live.ends();
    // A process that is killed leaves its question to the next one who looks.
    let mut live = Talk::live(&world);
    live.tell(&asked(&world, command("per_2", "ls -l")));
    let id = waiting(&world);
    live.child.kill().unwrap();
    live.child.wait().unwrap();
    assert_ne!(world.run("ask-answer", &[&id, "once"]).code(), 0, "nobody could take the answer");
    assert!(why(&closed(&world, &id, "withdrawn")).contains("the plugin beside its dialog is gone"));
}

#[test]
fn what_a_killed_plugin_process_has_sent_is_not_known_yet() {
    for is_running in [true, false] {
        let world = world().with_scripted_agent();
        world.configure("[live]\nopencode = true\ngrace = \"0s\"\n");
        let before = is_running.then(|| world.watch());
        let mut live = Talk::live(&world);
        live.tell(&asked(&world, command("per_1", "ls")));
        let id = waiting(&world);
        let words = to_allow(&world, &id);
        let sender = world.command("ask-answer").args(&words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        assert_eq!(live.hear().unwrap()["id"], "per_1");
        assert_eq!(world.names("running").len(), 1, "the answer was claimed");
        live.child.kill().unwrap();
        live.child.wait().unwrap();
        let watcher = before.unwrap_or_else(|| world.watch());
        let sender = sender.wait_with_output().unwrap();
        assert!(sender.status.success() && String::from_utf8_lossy(&sender.stdout).contains(NOT_KNOWN_YET), "{sender:?}");
        assert_eq!(world.status(&id)["cause"], "not_known_yet");
        // The person has seen that it ran.
        world.ok("relaunch", &["done", &id]);
        closed(&world, &id, "delivered");
        world.sh("ask-post -w later Now? 2>/dev/null && ask-answer later yes");
        world.reaches("later", "delivered");
        assert!(world.launches_of(&id).is_empty() && world.launches_of("later").len() == 1, "{}", watcher.log());
        watcher.stop();
    }
}

#[test]
fn a_request_of_opencode_that_is_not_known_gets_no_reply() {
    let world = world();
    let mut live = Talk::live(&world);
    let mut hidden = command("per_1", "ls");
    hidden["part"] = Value::Null;
    let mut newer = command("per_2", "ls");
    newer["event"] = "permission.v9.asked".into();
    live.tell(&asked(&world, hidden));
    live.tell(&asked(&world, newer));
    live.tell(&json!({"type": "brand_new", "id": "per_3"}));
    live.tell(&asked(&world, command("per_4", "pwd")));
    let id = waiting(&world);
    assert_eq!(world.names("pending").len(), 1);
    assert_eq!(allows(&world, &id).code(), 0);
    assert_eq!(live.hear().unwrap()["id"], "per_4");
    live.hang_up();
    assert_eq!(live.hear(), None);
    let told: Vec<_> = world.audited().into_iter().filter(|entry| entry["event"] == "dialog_not_asked").collect();
    assert!(told.len() == 2 && told.iter().all(|entry| entry["by"] == "askbox live opencode"), "{told:?}");
}

#[test]
fn a_dialog_of_opencode_is_its_terminals_for_the_grace() {
    let world = world();
    world.reconfigure("grace = \"0s\"", "grace = \"1h\"");
    let mut live = Talk::live(&world);
    live.tell(&asked(&world, command("per_1", "ls")));
    live.tell(&json!({"type": "ended", "id": "per_1"}));
    live.tell(&asked(&world, command("per_2", "ls")));
    live.hang_up();
    live.ends();
    assert!(world.names("pending").is_empty() && world.audited().iter().all(|entry| entry["workflow_id"] == "first"));
}

#[test]
fn runs_and_people_who_did_not_ask_for_it_meet_no_plugin() {
    let world = world();
    let mut of_run = Talk::start(world.command("askbox").args(["live", "opencode"]).env("ASKBOX_RUN", "w 1 2"));
    assert_eq!(of_run.hear(), None, "it ends by itself");
    of_run.ends();
    world.reconfigure("opencode = true", "opencode = false");
    let mut off = Talk::live(&world);
    assert_eq!(off.hear(), None);
    off.ends();
    assert!(world.names("pending").is_empty());
}

mod promises {
    use super::*;

    #[test]
    fn a_dialog_that_ends_at_opencodes_terminal_is_withdrawn() {
        let world = world();
        let mut live = Talk::live(&world);
        live.tell(&asked(&world, command("per_1", "ls")));
        let id = waiting(&world);
        live.tell(&json!({"type": "ended", "id": "per_1"}));
        assert!(why(&closed(&world, &id, "withdrawn")).contains("at its terminal"));
        assert_ne!(world.run("ask-answer", &[&id, "once"]).code(), 0);
        live.hang_up();
        live.ends();
        assert_eq!(live.hear(), None, "nothing was replied");
    }

    #[test]
    fn an_answer_that_opencode_does_not_find_came_too_late() {
        let world = world();
        let mut live = Talk::live(&world);
        for (told, says) in [(replied("per_1", 404), "came too late"), (json!({"type": "ended", "id": "per_1"}), "came too late")] {
            live.tell(&asked(&world, command("per_1", "ls")));
            let id = waiting(&world);
            let words = to_allow(&world, &id);
            let sent_at = Instant::now();
            let mut sender = world.command("ask-answer").args(&words).stderr(Stdio::piped()).spawn().unwrap();
            live.hear().unwrap();
            live.tell(&told);
            let end = until("the round is closed", || world.rounds("closed", &id).pop().filter(|_| world.names("running").is_empty()));
            assert!(end["closed"]["state"] == "superseded" && why(&end).contains(says), "{end}");
            let status = sender.wait().unwrap();
            assert!(was_told(status.code().unwrap(), sent_at), "its sender is told: {status}");
            world.sh("rm -rf \"$ASKBOX_DIR\"/closed/*");
        }
    }

    #[test]
    fn an_answer_that_opencode_does_not_confirm_is_not_delivered() {
        let world = world();
        for told in [Some(replied("per_1", 500)), Some(json!({"type": "failed", "id": "per_1", "why": "no such call"})), None] {
            let mut live = Talk::live(&world);
            live.tell(&asked(&world, command("per_1", "ls")));
            let id = waiting(&world);
            let words = to_allow(&world, &id);
            let mut sender = world.command("ask-answer").args(&words).stderr(Stdio::null()).spawn().unwrap();
            live.hear().unwrap();
            match &told {
                Some(told) => live.tell(told),
                None => live.hang_up(),
            }
            let status = sender.wait().unwrap();
            if told.as_ref().is_some_and(|told| told["status"] == 500) {
                closed(&world, &id, "superseded");
            } else {
                assert!(status.success() && world.status(&id)["state"] == "sent");
                // The same request still waits, so the session has not taken the answer.
                drop(live);
                live = Talk::live(&world);
                live.tell(&asked(&world, command("per_1", "ls")));
                assert_eq!(waiting(&world), id);
                assert!(why(&closed(&world, &id, "superseded")).contains("asks the same again"));
                live.hang_up();
                until("it is withdrawn", || world.names("pending").is_empty());
            }
            world.sh("rm -rf \"$ASKBOX_DIR\"/closed/*");
        }
    }
}
