//! The permissions of Qwen's sessions, at a real terminal. A script plays Qwen. `tests/acp/attended_qwen` does the same with the real Qwen.

mod start;

use std::io::Write;
use std::time::Instant;

use serde_json::{Value, json};

use crate::programs::beside_opencode::{allows, closed, waiting, why};
use crate::support::process::is_alive;
use crate::support::{Terminal, World, files, kill, root, until, was_told};

pub(crate) fn world() -> World {
    let mut world = World::with_home_apart();
    world.configure("[live]\nexperimental_qwen = true\ngrace = \"0s\"\n");
    world.make_mailbox();
    let script = std::fs::read_to_string(root().join("tests/programs/beside_qwen/qwen.py")).unwrap();
    files::write_program(&world.path("bin/qwen"), &script);
    world.set_path(format!("{}:/usr/bin:/bin", world.path("bin").display()));
    let runtime = world.path("tmp").display().to_string();
    world.set_env(&[("XDG_RUNTIME_DIR", &runtime)]);
    world
}

/// A session at a terminal.
pub(crate) struct Qwen<'a> {
    pub(crate) world: &'a World,
    terminal: Terminal<'a>,
}

impl<'a> Qwen<'a> {
    /// Starts it as a person does whose alias names `askbox live qwen --`.
    fn start(world: &'a World, args: &str, variables: &[&str]) -> Self {
        let script = format!("trap : INT; askbox live qwen -- {args}; echo \"qwen ended with $?\"; exec cat");
        let terminal = Terminal::running(world, (100, 40), variables, &["sh", "-c", &script]);
        let qwen = Self { world, terminal };
        until("it has begun", || qwen.log("args").first().cloned());
        qwen
    }

    pub(crate) fn begin(world: &'a World) -> Self {
        Self::start(world, "--continue", &[])
    }

    fn tell(&self, line: &Value) {
        let mut told = std::fs::OpenOptions::new().append(true).open(self.world.home().join("told")).unwrap();
        writeln!(told, "{line}").unwrap();
    }

    /// A dialog about a command opens.
    pub(crate) fn asks(&self, id: &str, command: &str) {
        self.tell(&json!({"ask": id, "tool": "run_shell_command", "label": "Allow Command", "command": command}));
    }

    /// The entries of its log with this field.
    pub(crate) fn log(&self, field: &str) -> Vec<Value> {
        let log = std::fs::read_to_string(self.world.home().join("log")).unwrap_or_default();
        let entries = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        entries.filter_map(|mut entry| entry.get_mut(field).map(Value::take)).collect()
    }

    fn pid(&self) -> i32 {
        self.log("pid")[0].as_i64().and_then(|pid| i32::try_from(pid).ok()).unwrap()
    }

    /// The processes beside it.
    fn beside(&self) -> Vec<i32> {
        self.world.processes("live qwen --beside")
    }

    /// The process beside it has ended, and left nothing.
    fn nothing_is_left(&self) {
        until("the process beside it has ended", || self.beside().is_empty());
        assert_eq!(files::names(&self.world.path("tmp")), [] as [&str; 0]);
    }
}

#[test]
fn qwens_silence_after_a_refusal_becomes_a_receipt() {
    let world = world();
    let qwen = Qwen::begin(&world);
    qwen.asks("r-1", "rm x");
    let id = waiting(&world);
    world.ok("ask-answer", &["decline", &id]);
    closed(&world, &id, "delivered");
    assert_eq!((qwen.log("refused"), qwen.log("ran")), (vec!["r-1".into()], vec![]));
    assert!(qwen.log("heard").len() >= 2, "the second refusal is the question for the receipt");
}

#[test]
fn a_request_of_qwen_in_another_form_gets_no_reply() {
    let world = world();
    let qwen = Qwen::begin(&world);
    qwen.tell(&json!({"ask": "r-1", "tool": "ask_user_question", "label": "Allow", "command": "merge?"}));
    qwen.tell(&json!({"ask": "r-2", "tool": "exit_plan_mode", "label": "Approve Plan", "command": "the plan"}));
    qwen.tell(&json!({"ask": "r-3", "tool": "new_tool", "label": "Allow", "command": "x"}));
    qwen.tell(&json!({"event": {"type": "control_request", "request_id": "r-4", "request": {"subtype": "new_kind"}}}));
    qwen.asks("r-5", "touch b");
    let id = waiting(&world);
    assert_eq!(world.names("pending").len(), 1);
    assert_eq!(allows(&world, &id).code(), 0);
    closed(&world, &id, "delivered");
    assert!(qwen.log("heard").iter().all(|reply| reply["request_id"] == "r-5"));
    let told: Vec<_> = world.audited().into_iter().filter(|entry| entry["event"] == "dialog_not_asked").collect();
    assert!(told.len() == 2 && told.iter().all(|entry| entry["by"] == "askbox live qwen"), "{told:?}");
}

#[test]
fn qwen_goes_on_when_the_process_beside_it_is_killed() {
    let world = world();
    let _watcher = world.watch();
    let qwen = Qwen::begin(&world);
    qwen.asks("r-1", "touch a");
    let id = waiting(&world);
    qwen.beside().into_iter().for_each(kill);
    assert!(why(&closed(&world, &id, "withdrawn")).contains("the process beside its dialog is gone"));
    qwen.tell(&json!({"terminal": "r-1", "allowed": true}));
    until("qwen has noticed it", || !qwen.log("broken").is_empty());
    assert!(qwen.log("ran") == ["r-1"] && is_alive(qwen.pid()));
}

#[test]
fn the_question_of_a_killed_qwen_is_withdrawn() {
    let world = world();
    let qwen = Qwen::begin(&world);
    qwen.asks("r-1", "touch a");
    let id = waiting(&world);
    // A Qwen whose terminal is closed still says this.
    qwen.tell(&json!({"event": {"type": "system", "subtype": "session_end"}}));
    assert!(why(&closed(&world, &id, "withdrawn")).contains("session has ended"));
    let data = json!({"session_id": "s-2", "cwd": world.work(), "protocol_version": 2});
    qwen.tell(&json!({"event": {"type": "system", "subtype": "session_start", "data": data}}));
    qwen.asks("r-2", "touch b");
    let id = waiting(&world);
    kill(qwen.pid());
    assert!(why(&closed(&world, &id, "withdrawn")).contains("session has ended"));
    qwen.nothing_is_left();
}

#[test]
fn words_beside_a_refusal_of_qwen_are_refused() {
    let world = world();
    let qwen = Qwen::begin(&world);
    qwen.asks("r-1", "rm x");
    let id = waiting(&world);
    let said = world.run("ask-answer", &["decline", &id, "--note", "use make"]);
    assert!(said.code() != 0 && said.words().contains("qwen takes no words"), "{}", said.words());
    assert!(world.in_mailbox(format!("pending/{id}.json")).exists());
}

#[test]
fn a_dialog_told_twice_in_two_forms_stays_at_its_terminal() {
    let world = world();
    let qwen = Qwen::begin(&world);
    qwen.asks("r-1", "ls");
    let id = waiting(&world);
    qwen.asks("r-1", "ls");
    qwen.asks("r-1", "rm -rf everything");
    assert!(why(&closed(&world, &id, "withdrawn")).contains("twice, in two forms"));
    qwen.asks("r-1", "ls");
    qwen.asks("r-2", "touch a");
    let other = waiting(&world);
    assert!(world.document(&format!("pending/{other}.json"))["question"].as_str().unwrap().contains("touch a"));
    assert_eq!(world.names("pending").len(), 1);
}

mod promises {
    use super::*;

    #[test]
    fn a_command_of_qwen_is_allowed_once_in_the_mailbox() {
        let world = world();
        let qwen = Qwen::begin(&world);
        let args = qwen.log("args")[0].clone();
        assert!(args[0] == "--json-file" && args[2] == "--input-file" && args[4] == "--continue", "{args}");
        assert_eq!(world.processes(&format!("--of {}", qwen.pid())), qwen.beside(), "qwen has the pid of the command");
        qwen.asks("r-1", "touch a");
        let id = waiting(&world);
        let question = world.document(&format!("pending/{id}.json"));
        assert!(
            question["live"]["program"] == "qwen" && question["live"]["session"] == "a965bd4c-c2c2-4b24-989f-22f274774bd5",
            "{question}"
        );
        assert!(question["question"].as_str().unwrap().contains("command: touch a"), "{question}");
        assert_eq!(question["options"].as_object().map(|keys| keys.keys().cloned().collect::<Vec<_>>()), Some(vec!["once".to_owned()]));
        let outcome = allows(&world, &id);
        assert_eq!(outcome.code(), 0, "{}", outcome.words());
        closed(&world, &id, "delivered");
        assert_eq!(qwen.log("ran"), ["r-1"]);
        assert_eq!(qwen.log("heard"), [json!({"type": "confirmation_response", "request_id": "r-1", "allowed": true})]);
        qwen.terminal.burst(&["C-c"]);
        until("qwen was interrupted", || !qwen.log("interrupted").is_empty());
        assert!(is_alive(qwen.beside()[0]), "it is in a session of its own");
        qwen.tell(&json!({"end": 7}));
        qwen.terminal.see("qwen ended with 7");
        qwen.nothing_is_left();
    }

    #[test]
    fn a_dialog_that_ends_at_qwens_terminal_is_withdrawn() {
        let world = world();
        let qwen = Qwen::begin(&world);
        let prompt = json!({"event": {"type": "user", "message": {"content": [{"type": "text", "text": "go on"}]}}});
        qwen.asks("r-1", "touch a");
        let id = waiting(&world);
        qwen.tell(&json!({"terminal": "r-1", "allowed": true}));
        assert!(why(&closed(&world, &id, "withdrawn")).contains("at its terminal"));
        // Esc shows with the next turn.
        qwen.asks("r-2", "touch b");
        let id = waiting(&world);
        qwen.tell(&json!({"terminal": "r-2", "allowed": false}));
        qwen.tell(&prompt);
        assert!(why(&closed(&world, &id, "withdrawn")).contains("at its terminal"));
        // Until then, an answer is too late, whatever it says.
        for (n, decides) in [(3, "once"), (4, "decline")] {
            let request = format!("r-{n}");
            qwen.asks(&request, "touch c");
            let id = waiting(&world);
            qwen.tell(&json!({"terminal": request, "allowed": false}));
            until("the person has refused", || qwen.log("refused").contains(&request.as_str().into()));
            if decides == "once" {
                let sent_at = Instant::now();
                assert!(was_told(allows(&world, &id).code(), sent_at), "its sender is told");
            } else {
                world.run("ask-answer", &["decline", &id]);
            }
            assert!(why(&closed(&world, &id, "superseded")).contains("it came too late"), "{decides}");
        }
        assert_eq!(qwen.log("ran"), ["r-1"]);
    }
}
