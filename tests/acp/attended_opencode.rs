//! Sessions of opencode that a person attends, in a real terminal, with the plugin that `askbox setup` writes.

mod figures;
mod prompted;

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::acp::scene;
use crate::support::openai::OpenAi;
use crate::support::{Terminal, World, kill, program, until};

/// The words of opencode's dialog.
const DIALOG: &str = "Permission required";

struct Attended {
    world: World,
    api: OpenAi,
}

/// The program, which `tests/run agents` installs.
fn opencode() -> PathBuf {
    let folder = std::env::var_os("ASKBOX_TEST_MORE_AGENTS").expect("tests/run agents installs the agents and names their folder");
    PathBuf::from(folder).join("node_modules/.bin/opencode")
}

impl Attended {
    fn begin() -> Self {
        let (world, api) = (World::beside_its_work(), OpenAi::start());
        world.configure("[live]\nopencode = true\ngrace = \"0s\"\n");
        world.make_mailbox();
        let write = |path: &str, text: &Value| {
            let path = world.home().join(".config/opencode").join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text.to_string()).unwrap();
        };
        let model = json!({"name": "scripted", "tool_call": true, "limit": {"context": 200_000, "output": 8000}});
        let provider = json!({"npm": "@ai-sdk/openai-compatible", "name": "scripted", "models": {"scripted": model},
            "options": {"baseURL": api.url(), "apiKey": "dummy"}});
        let settings = json!({"autoupdate": false, "share": "disabled", "model": "scripted/scripted", "small_model": "scripted/scripted",
            "permission": {"bash": "ask", "edit": "ask"}, "provider": {"scripted": provider}});
        write("opencode.json", &settings);
        // opencode loads this package for plugins from npm. Without a network, each start would try that for two minutes.
        let package = json!({"name": "@opencode-ai/plugin", "version": "1.18.33"});
        let needs = json!({"dependencies": {"@opencode-ai/plugin": "1.18.33"}});
        write("package.json", &needs);
        write("package-lock.json", &json!({"lockfileVersion": 3, "packages": {"": needs, "node_modules/@opencode-ai/plugin": package}}));
        write("node_modules/@opencode-ai/plugin/package.json", &package);
        world.ok("askbox", &["setup", "--yes", "--only", "live", "--opencode"]);
        Self { world, api }
    }

    /// A terminal with a session.
    fn terminal(&self) -> Terminal<'_> {
        self.terminal_with(&[])
    }

    /// The same with more variables.
    fn terminal_with(&self, more: &[&str]) -> Terminal<'_> {
        let variables = ["OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1", "OPENCODE_DISABLE_DEFAULT_PLUGINS=1"];
        let variables = [&variables, more].concat();
        let terminal = Terminal::running(&self.world, (140, 45), &variables, &[opencode().to_str().unwrap()]);
        terminal.see("Ask anything");
        // The screen is there before the program reads keys.
        terminal.burst(&["x"]);
        terminal.see("┃  x");
        terminal.burst(&["BSpace"]);
        terminal.see("Ask anything");
        terminal
    }

    /// The person at the terminal says something, and the model does these steps.
    fn says(&self, terminal: &Terminal<'_>, text: &str, steps: Value) {
        self.api.on(text, steps);
        terminal.paste(text);
        terminal.see(text);
        terminal.burst(&["Enter"]);
    }

    fn waiting(&self) -> String {
        let name = until("a question waits", || self.world.names("pending").first().cloned());
        name.trim_end_matches(".json").to_owned()
    }

    /// The arguments of `ask-answer` that allow the call.
    fn to_allow(&self, id: &str) -> Vec<String> {
        let shown = self.world.ok("ask-answer", &["show", id]);
        let begin = format!("ask-answer {id} once --round ");
        let command = shown.lines().map(str::trim).find(|line| line.starts_with(&begin)).expect("the command to copy");
        command.split(' ').skip(1).map(str::to_owned).collect()
    }

    fn allow(&self, id: &str) {
        let words = self.to_allow(id);
        self.world.ok("ask-answer", &words.iter().map(String::as_str).collect::<Vec<_>>());
    }

    fn effects(&self) -> Vec<String> {
        std::fs::read_to_string(self.world.home().join("effects")).unwrap_or_default().lines().map(str::to_owned).collect()
    }

    fn told(&self) -> String {
        self.api.told().concat().join("\n")
    }
}

impl Drop for Attended {
    fn drop(&mut self) {
        self.world.processes("bin/opencode").into_iter().for_each(kill);
    }
}

fn shell(command: &str) -> Value {
    json!({"tool": "bash", "input": {"command": command, "description": "a command"}})
}

#[test]
#[ignore = "tests/run agents runs it"]
fn a_command_of_a_left_opencode_session_runs_once() {
    let opencode = Attended::begin();
    let terminal = opencode.terminal();
    scene::answers_itself(&opencode.world);
    let command = format!("echo ran >> $HOME/effects; {}", scene::ANSWERS);
    opencode.says(&terminal, "do the first part", json!([shell(&command), {"text": "The part is done."}]));
    terminal.see(DIALOG);
    let id = opencode.waiting();
    let question = opencode.world.document(&format!("pending/{id}.json"));
    assert!(question["question"].as_str().unwrap().contains("command: echo ran >> $HOME/effects"), "{question}");
    assert!(opencode.effects().is_empty());
    opencode.allow(&id);
    opencode.world.closed(&id, "delivered", 1);
    terminal.see("The part is done.");
    assert!(!terminal.screen().contains(DIALOG));
    assert_eq!(opencode.effects(), ["ran"]);
    scene::is_known_as_an_agents(&opencode.world);
    until("nobody waits beside it", || opencode.world.processes("live opencode").is_empty());
}

#[test]
#[ignore = "tests/run agents runs it"]
fn a_question_and_a_refusal_reach_opencodes_model() {
    let opencode = Attended::begin();
    let terminal = opencode.terminal();
    let options = json!([{"label": "merge", "description": "m"}, {"label": "keep", "description": "k"}]);
    let question = json!({"question": "Merge or keep?", "header": "How", "options": options});
    let ask = json!({"tool": "question", "input": {"questions": [question]}});
    let steps = json!([ask, shell("echo merged >> $HOME/effects"), {"text": "It is over."}]);
    opencode.says(&terminal, "ask me", steps);
    let id = opencode.waiting();
    opencode.world.ok("ask-answer", &[&id, "merge"]);
    opencode.world.closed(&id, "delivered", 1);
    let next = opencode.waiting();
    assert!(next != id && opencode.told().contains("\"merge\""), "{}", opencode.told());
    opencode.world.ok("ask-answer", &["decline", &next, "--note", "use another branch"]);
    opencode.world.closed(&next, "delivered", 1);
    terminal.see("It is over.");
    assert!(opencode.told().contains("use another branch") && opencode.effects().is_empty());
}

#[test]
#[ignore = "tests/run agents runs it"]
fn opencodes_own_terminal_is_first_or_gone() {
    let opencode = Attended::begin();
    let terminal = opencode.terminal();
    let steps = |n: u32| json!([shell(&format!("echo {n} >> $HOME/effects")), {"text": format!("Part {n} is done.")}]);
    opencode.says(&terminal, "do part one", steps(1));
    terminal.see(DIALOG);
    let id = opencode.waiting();
    terminal.burst(&["Enter"]);
    let end = opencode.world.closed(&id, "withdrawn", 1).remove(0);
    assert!(end["closed"]["why"].as_str().unwrap().contains("at its terminal"), "{end}");
    terminal.see("Part 1 is done.");
    opencode.says(&terminal, "do part two", steps(2));
    terminal.see(DIALOG);
    let id = opencode.waiting();
    opencode.world.processes("bin/opencode").into_iter().for_each(kill);
    let end = opencode.world.closed(&id, "withdrawn", 1).remove(0);
    assert!(end["closed"]["why"].as_str().unwrap().contains("session has ended"), "{end}");
    assert_ne!(opencode.world.run("ask-answer", &[&id, "once"]).code(), 0);
    assert_eq!(opencode.effects(), ["1"]);
}

#[test]
#[ignore = "tests/run agents runs it"]
fn a_subagent_of_opencode_asks_in_the_mailbox_too() {
    let opencode = Attended::begin();
    let terminal = opencode.terminal();
    opencode.api.on("the small part", json!([shell("echo small >> $HOME/effects"), {"text": "The small part is done."}]));
    let task = json!({"tool": "task", "input": {"description": "a sub", "prompt": "do the small part", "subagent_type": "general"}});
    opencode.says(&terminal, "begin a task", json!([task, {"text": "Everything is done."}]));
    let id = opencode.waiting();
    let question = opencode.world.document(&format!("pending/{id}.json"));
    assert!(question["live"]["agent"] == "general" && question["tool_call"]["subagent"]["type"] == "general", "{question}");
    opencode.allow(&id);
    opencode.world.closed(&id, "delivered", 1);
    terminal.see("Everything is done.");
    assert_eq!(opencode.effects(), ["small"]);
}

#[test]
#[ignore = "tests/run agents runs it"]
fn a_tool_that_outlives_opencode_keeps_no_question() {
    let opencode = Attended::begin();
    let terminal = opencode.terminal();
    let both = json!({"tools": [shell("echo asked >> $HOME/effects"), shell("echo begun >> $HOME/effects; exec sleep 1000")]});
    opencode.says(&terminal, "do both parts", json!([both]));
    let names = until("both calls wait", || Some(opencode.world.names("pending")).filter(|names| names.len() == 2));
    let is_long = |name: &&String| opencode.world.document(&format!("pending/{name}"))["question"].as_str().unwrap().contains("sleep");
    let (long, other): (Vec<_>, Vec<_>) = names.iter().partition(is_long);
    let id = |names: Vec<&String>| names[0].trim_end_matches(".json").to_owned();
    let (long, other) = (id(long), id(other));
    // The tool starts while a process waits beside the other dialog.
    opencode.allow(&long);
    until("the tool runs", || opencode.effects() == ["begun"]);
    opencode.world.processes("bin/opencode").into_iter().for_each(kill);
    let end = opencode.world.closed(&other, "withdrawn", 1).remove(0);
    assert!(end["closed"]["why"].as_str().unwrap().contains("session has ended"), "{end}");
    assert!(!opencode.world.processes("sleep 1000").is_empty(), "the tool has outlived it");
    assert_eq!(opencode.effects(), ["begun"]);
}

#[test]
#[ignore = "tests/run agents runs it"]
fn opencode_does_its_work_while_askbox_is_missing() {
    let opencode = Attended::begin();
    let bin = opencode.world.path("later");
    std::fs::create_dir_all(&bin).unwrap();
    let terminal = opencode.terminal_with(&[&format!("PATH={}:/usr/bin:/bin", bin.display())]);
    let steps = |n: u32| json!([shell(&format!("echo {n} >> $HOME/effects")), {"text": format!("Part {n} is done.")}]);
    for n in [1, 2] {
        opencode.says(&terminal, &format!("do part {n}."), steps(n));
        terminal.see(DIALOG);
        terminal.burst(&["Enter"]);
        terminal.see(&format!("Part {n} is done."));
    }
    assert!(opencode.world.names("pending").is_empty());
    // The next dialog lies in the mailbox, without a restart.
    std::os::unix::fs::symlink(program("askbox"), bin.join("askbox")).unwrap();
    opencode.says(&terminal, "do part 3.", steps(3));
    let id = opencode.waiting();
    opencode.allow(&id);
    opencode.world.closed(&id, "delivered", 1);
    terminal.see("Part 3 is done.");
    assert_eq!(opencode.effects(), ["1", "2", "3"]);
}
