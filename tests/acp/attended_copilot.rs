//! Sessions of Copilot that a person attends, in a real terminal, with the extension that `askbox setup` writes. Copilot has a model of its
//! own in place of a login.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::acp::scene;
use crate::support::openai::OpenAi;
use crate::support::{Terminal, World, kill, until};

/// The words of Copilot's dialog.
const DIALOG: &str = "Do you want to run this command?";

struct Attended {
    world: World,
    api: OpenAi,
}

/// The program, which `tests/run agents` installs.
fn copilot() -> PathBuf {
    let folder = std::env::var_os("ASKBOX_TEST_MORE_AGENTS").expect("tests/run agents installs the agents and names their folder");
    PathBuf::from(folder).join("node_modules/.bin/copilot")
}

impl Attended {
    fn begin() -> Self {
        let (world, api) = (World::beside_its_work(), OpenAi::start());
        world.configure("[live]\ngrace = \"0s\"\n");
        world.make_mailbox();
        world.ok("askbox", &["setup", "--yes", "--only", "live", "--copilot"]);
        Self { world, api }
    }

    /// A terminal with a session, whose person lets the extension in.
    fn terminal(&self) -> Terminal<'_> {
        let url = format!("COPILOT_PROVIDER_BASE_URL={}", self.api.url());
        let variables = [
            &url,
            "COPILOT_PROVIDER_API_KEY=dummy",
            "COPILOT_MODEL=gpt-5.4",
            "COPILOT_PROVIDER_WIRE_API=responses",
            "COPILOT_OFFLINE=true",
            "COPILOT_AUTO_UPDATE=false",
        ];
        let terminal = Terminal::running(&self.world, (140, 45), &variables, &[copilot().to_str().unwrap(), "--experimental"]);
        terminal.see("Do you trust the files in this folder?");
        terminal.burst(&["Enter"]);
        terminal.see("\"user:askbox\" wants elevated permissions");
        terminal.burst(&["Enter"]);
        terminal.see("/ commands");
        terminal
    }

    /// The person at the terminal says something, and the model makes this call.
    fn says(&self, terminal: &Terminal<'_>, text: &str, command: &str) {
        let call = json!({"tool": "bash", "input": {"command": command, "description": "a command", "mode": "sync"}});
        self.api.on(text, json!([call, {"text": format!("That is all about {text}.")}]));
        terminal.paste(text);
        terminal.see(text);
        terminal.burst(&["Enter"]);
        terminal.see(DIALOG);
    }

    fn waiting(&self) -> String {
        let name = until("a question waits", || self.world.names("pending").first().cloned());
        name.trim_end_matches(".json").to_owned()
    }

    fn allow(&self, id: &str) {
        let shown = self.world.ok("ask-answer", &["show", id]);
        let begin = format!("ask-answer {id} once --round ");
        let command = shown.lines().map(str::trim).find(|line| line.starts_with(&begin)).expect("the command to copy");
        self.world.ok("ask-answer", &command.split(' ').skip(1).collect::<Vec<_>>());
    }

    fn effects(&self) -> Vec<String> {
        std::fs::read_to_string(self.world.home().join("effects")).unwrap_or_default().lines().map(str::to_owned).collect()
    }
}

impl Drop for Attended {
    fn drop(&mut self) {
        self.world.processes("bin/copilot").into_iter().for_each(kill);
    }
}

fn why(end: &Value) -> &str {
    end["closed"]["why"].as_str().unwrap()
}

#[test]
#[ignore = "tests/run agents runs it"]
fn a_command_of_a_left_copilot_session_runs_once() {
    let copilot = Attended::begin();
    let terminal = copilot.terminal();
    scene::answers_itself(&copilot.world);
    copilot.says(&terminal, "the first part", &format!("echo ran >> $HOME/effects; {}", scene::ANSWERS));
    let id = copilot.waiting();
    let question = copilot.world.document(&format!("pending/{id}.json"));
    assert!(question["question"].as_str().unwrap().contains("command: echo ran >> $HOME/effects"), "{question}");
    assert!(copilot.effects().is_empty());
    copilot.allow(&id);
    copilot.world.closed(&id, "delivered", 1);
    terminal.see("That is all about the first part.");
    assert!(!terminal.screen().contains(DIALOG));
    assert_eq!(copilot.effects(), ["ran"]);
    scene::is_known_as_an_agents(&copilot.world);
    until("nobody waits beside it", || copilot.world.processes("live copilot").is_empty());
}

#[test]
#[ignore = "tests/run agents runs it"]
fn the_words_beside_a_refusal_reach_copilots_model() {
    let copilot = Attended::begin();
    let terminal = copilot.terminal();
    copilot.says(&terminal, "the first part", "echo refused >> $HOME/effects");
    let id = copilot.waiting();
    copilot.world.ok("ask-answer", &["decline", &id, "--note", "use another branch"]);
    copilot.world.closed(&id, "delivered", 1);
    terminal.see("That is all about the first part.");
    let told = copilot.api.told().concat().join("\n");
    assert!(told.contains("use another branch") && copilot.effects().is_empty(), "{told}");
    // Without words, the turn ends.
    copilot.says(&terminal, "the second part", "echo refused >> $HOME/effects");
    let id = copilot.waiting();
    copilot.world.ok("ask-answer", &["decline", &id, "--stop"]);
    copilot.world.closed(&id, "delivered", 1);
    terminal.see_no_more(DIALOG);
    assert!(copilot.effects().is_empty() && !terminal.screen().contains("all about the second part"));
}

#[test]
#[ignore = "tests/run agents runs it"]
fn copilots_own_terminal_is_first_or_gone() {
    let copilot = Attended::begin();
    let terminal = copilot.terminal();
    copilot.says(&terminal, "the first part", "echo 1 >> $HOME/effects");
    let id = copilot.waiting();
    terminal.burst(&["Enter"]);
    let end = copilot.world.closed(&id, "withdrawn", 1).remove(0);
    assert!(why(&end).contains("at its terminal"), "{end}");
    terminal.see("That is all about the first part.");
    copilot.says(&terminal, "the second part", "echo 2 >> $HOME/effects");
    let id = copilot.waiting();
    copilot.world.processes("bin/copilot").into_iter().for_each(kill);
    let end = copilot.world.closed(&id, "withdrawn", 1).remove(0);
    assert!(why(&end).contains("session has ended"), "{end}");
    assert_ne!(copilot.world.run("ask-answer", &[&id, "once"]).code(), 0);
    assert_eq!(copilot.effects(), ["1"]);
}
