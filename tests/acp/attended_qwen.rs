//! Sessions of Qwen that a person attends, in a real terminal, started by `askbox live qwen`.

use std::path::PathBuf;
use std::time::Instant;

use serde_json::{Value, json};

use crate::acp::scene;
use crate::support::openai::OpenAi;
use crate::support::{Terminal, World, kill, names, until, was_told};

/// The words of Qwen's dialog about a command.
const DIALOG: &str = "Allow execution of:";
/// The words of its prompt.
const PROMPT: &str = "Type your message";

struct Attended {
    world: World,
    api: OpenAi,
}

/// The folder of the programs, which `tests/run agents` installs.
fn programs() -> PathBuf {
    let folder = std::env::var_os("ASKBOX_TEST_MORE_AGENTS").expect("tests/run agents installs the agents and names their folder");
    PathBuf::from(folder).join("node_modules/.bin")
}

impl Attended {
    fn begin() -> Self {
        let (mut world, api) = (World::beside_its_work(), OpenAi::start());
        world.configure("[live]\ngrace = \"0s\"\n");
        world.make_mailbox();
        world.set_path(format!("{}:/usr/bin:/bin", programs().display()));
        let shown = world.ok("askbox", &["setup", "--yes", "--only", "live", "--qwen"]);
        assert!(shown.contains("alias qwen='askbox live qwen --'"), "{shown}");
        let settings = json!({"tools": {"approvalMode": "default"}, "general": {"disableAutoUpdate": true},
            "security": {"auth": {"selectedType": "openai"}, "folderTrust": {"enabled": false}},
            "privacy": {"usageStatisticsEnabled": false}, "telemetry": {"enabled": false}});
        let path = world.home().join(".qwen/settings.json");
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, settings.to_string()).unwrap();
        Self { world, api }
    }

    /// A terminal with a session.
    fn terminal(&self) -> Terminal<'_> {
        let url = format!("OPENAI_BASE_URL={}", self.api.url());
        let runtime = format!("XDG_RUNTIME_DIR={}", self.world.path("tmp").display());
        let variables = [&url, &runtime, "OPENAI_API_KEY=dummy", "OPENAI_MODEL=scripted"];
        let terminal = Terminal::running(&self.world, (140, 45), &variables, &["askbox", "live", "qwen", "--", "--debug"]);
        terminal.see(PROMPT);
        terminal
    }

    /// The person at the terminal says something, and the model makes these calls.
    fn says(&self, terminal: &Terminal<'_>, text: &str, calls: Value, dialog: &str) {
        self.api.on(text, json!([calls, {"text": format!("That is all about {text}.")}]));
        terminal.paste(text);
        terminal.see(text);
        terminal.burst(&["Enter"]);
        terminal.see(dialog);
    }

    fn waiting(&self) -> String {
        let name = until("a question waits", || self.world.names("pending").first().cloned());
        name.trim_end_matches(".json").to_owned()
    }

    fn allow(&self, id: &str) -> i32 {
        let shown = self.world.ok("ask-answer", &["show", id]);
        let begin = format!("ask-answer {id} once --round ");
        let command = shown.lines().map(str::trim).find(|line| line.starts_with(&begin)).expect("the command to copy");
        self.world.run("ask-answer", &command.split(' ').skip(1).collect::<Vec<_>>()).code()
    }

    fn effects(&self) -> Vec<String> {
        std::fs::read_to_string(self.world.home().join("effects")).unwrap_or_default().lines().map(str::to_owned).collect()
    }

    fn beside(&self) -> Vec<i32> {
        self.world.processes("live qwen --beside")
    }

    fn nothing_is_left(&self) {
        until("nobody waits beside it", || self.beside().is_empty());
        // Qwen has a folder of its own there.
        until("the folder is gone", || names(&self.world.path("tmp")).iter().all(|name| !name.starts_with("askbox-qwen-")));
    }
}

impl Drop for Attended {
    fn drop(&mut self) {
        self.world.processes("bin/qwen").into_iter().for_each(kill);
    }
}

fn shell(command: &str) -> Value {
    json!({"tool": "run_shell_command", "input": {"command": command, "is_background": false, "description": "a command"}})
}

fn why(end: &Value) -> &str {
    end["closed"]["why"].as_str().unwrap()
}

#[test]
#[ignore = "tests/run agents runs it"]
fn a_command_of_a_left_qwen_session_runs_once() {
    let qwen = Attended::begin();
    let terminal = qwen.terminal();
    scene::answers_itself(&qwen.world);
    qwen.says(&terminal, "the first part", shell(&format!("echo ran >> $HOME/effects; {}", scene::ANSWERS)), DIALOG);
    let id = qwen.waiting();
    let question = qwen.world.document(&format!("pending/{id}.json"));
    assert!(question["question"].as_str().unwrap().contains("command: echo ran >> $HOME/effects"), "{question}");
    assert!(qwen.effects().is_empty());
    assert_eq!(qwen.allow(&id), 0);
    qwen.world.closed(&id, "delivered", 1);
    terminal.see("That is all about the first part.");
    assert!(!terminal.screen().contains(DIALOG));
    assert_eq!(qwen.effects(), ["ran"]);
    scene::is_known_as_an_agents(&qwen.world);
    // An edit has a dialog of another kind.
    let file = qwen.world.home().join("written");
    let write = json!({"tool": "write_file", "input": {"file_path": file, "content": "one\n"}});
    qwen.says(&terminal, "the second part", write, "Apply this change?");
    let id = qwen.waiting();
    assert_eq!(qwen.allow(&id), 0);
    qwen.world.closed(&id, "delivered", 1);
    terminal.see("That is all about the second part.");
    assert_eq!(std::fs::read_to_string(file).unwrap(), "one\n");
    terminal.close();
    qwen.nothing_is_left();
}

#[test]
#[ignore = "tests/run agents runs it"]
fn a_refusal_from_elsewhere_ends_qwens_turn() {
    let qwen = Attended::begin();
    let terminal = qwen.terminal();
    qwen.says(&terminal, "the first part", shell("echo refused >> $HOME/effects"), DIALOG);
    let id = qwen.waiting();
    qwen.world.ok("ask-answer", &["decline", &id]);
    qwen.world.closed(&id, "delivered", 1);
    terminal.see_no_more(DIALOG);
    terminal.see(PROMPT);
    assert!(qwen.effects().is_empty() && !terminal.screen().contains("all about the first part"));
    // The session goes on. One of two dialogs is allowed, and the other is not.
    let two = json!({"tools": [shell("echo one >> $HOME/effects"), shell("echo two >> $HOME/effects")]});
    qwen.says(&terminal, "the second part", two, DIALOG);
    until("both wait", || qwen.world.names("pending").len() == 2);
    let of = |command: &str| {
        let names = qwen.world.names("pending");
        let has = |name: &&String| qwen.world.document(&format!("pending/{name}"))["question"].as_str().unwrap().contains(command);
        names.iter().find(has).unwrap().trim_end_matches(".json").to_owned()
    };
    let (one, two) = (of("echo one"), of("echo two"));
    assert_eq!(qwen.allow(&one), 0);
    qwen.world.closed(&one, "delivered", 1);
    qwen.world.ok("ask-answer", &["decline", &two]);
    qwen.world.closed(&two, "delivered", 1);
    terminal.see("That is all about the second part.");
    assert_eq!(qwen.effects(), ["one"]);
}

#[test]
#[ignore = "tests/run agents runs it"]
fn qwens_own_terminal_is_first_or_gone() {
    let qwen = Attended::begin();
    let terminal = qwen.terminal();
    qwen.says(&terminal, "the first part", shell("echo 1 >> $HOME/effects"), DIALOG);
    let id = qwen.waiting();
    terminal.burst(&["Enter"]);
    let end = qwen.world.closed(&id, "withdrawn", 1).remove(0);
    assert!(why(&end).contains("at its terminal"), "{end}");
    terminal.see("That is all about the first part.");
    // Qwen tells nothing about Esc. An answer is too late then.
    qwen.says(&terminal, "the second part", shell("echo 2 >> $HOME/effects"), DIALOG);
    let id = qwen.waiting();
    terminal.burst(&["Escape"]);
    terminal.see_no_more(DIALOG);
    let sent_at = Instant::now();
    assert!(was_told(qwen.allow(&id), sent_at), "its sender is told");
    qwen.world.closed(&id, "superseded", 1);
    // The next turn tells it, too.
    qwen.says(&terminal, "the third part", shell("echo 3 >> $HOME/effects"), DIALOG);
    let third = qwen.waiting();
    terminal.burst(&["Escape"]);
    terminal.see_no_more(DIALOG);
    qwen.says(&terminal, "the fourth part", shell("echo 4 >> $HOME/effects"), DIALOG);
    let end = qwen.world.closed(&third, "withdrawn", 1).remove(0);
    assert!(why(&end).contains("at its terminal"), "{end}");
    let id = qwen.waiting();
    terminal.close();
    let end = qwen.world.closed(&id, "withdrawn", 1).remove(0);
    assert!(why(&end).contains("session has ended"), "{end}");
    qwen.nothing_is_left();
    assert_eq!(qwen.effects(), ["1"]);
}

#[test]
#[ignore = "tests/run agents runs it"]
fn a_question_of_qwen_is_left_to_its_terminal() {
    let qwen = Attended::begin();
    let terminal = qwen.terminal();
    let options = json!([{"label": "merge", "description": "take it"}, {"label": "keep", "description": "leave it"}]);
    let questions = json!([{"question": "Merge or keep?", "header": "Choice", "multiSelect": false, "options": options}]);
    qwen.says(&terminal, "the first part", json!({"tool": "ask_user_question", "input": {"questions": questions}}), "Merge or keep?");
    terminal.see("1. merge");
    terminal.burst(&["Enter"]);
    terminal.see("That is all about the first part.");
    qwen.says(&terminal, "the second part", shell("echo 2 >> $HOME/effects"), DIALOG);
    let id = qwen.waiting();
    let ended = qwen.world.names("closed");
    assert!(ended.iter().all(|name| !name.starts_with("live-")), "the question was in no mailbox: {ended:?}");
    assert!(qwen.world.audited().iter().all(|entry| entry["event"] != "dialog_not_asked"), "nothing went wrong");
    assert_eq!(qwen.allow(&id), 0);
    terminal.see("That is all about the second part.");
    assert!(qwen.api.told().concat().join("\n").contains("merge"));
}

#[test]
#[ignore = "tests/run agents runs it"]
fn qwen_goes_on_without_the_process_beside_it() {
    let qwen = Attended::begin();
    let terminal = qwen.terminal();
    let _watcher = qwen.world.watch();
    qwen.says(&terminal, "the first part", shell("echo 1 >> $HOME/effects"), DIALOG);
    let id = qwen.waiting();
    qwen.beside().into_iter().for_each(kill);
    let end = qwen.world.closed(&id, "withdrawn", 1).remove(0);
    assert!(why(&end).contains("the process beside its dialog is gone"), "{end}");
    terminal.see(DIALOG);
    terminal.burst(&["Enter"]);
    terminal.see("That is all about the first part.");
    qwen.says(&terminal, "the second part", shell("echo 2 >> $HOME/effects"), DIALOG);
    terminal.burst(&["Enter"]);
    terminal.see("That is all about the second part.");
    assert_eq!(qwen.effects(), ["1", "2"]);
}
