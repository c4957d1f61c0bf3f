//! Sessions of codex that a person attends, with its real daemon. The test's client is the terminal.

mod figures;
mod prompted;
mod woken;

use std::process::{Child, Stdio};

use serde_json::{Value, json};

use crate::acp::scene::agents;
use crate::support::codex::{Terminal, socket};
use crate::support::openai::OpenAi;
use crate::support::{World, kill, needs, programs, until};

struct Attended {
    world: World,
    api: OpenAi,
    daemon: Child,
    terminal: Terminal,
    thread: String,
}

impl Attended {
    /// A daemon of codex with one session.
    fn begin() -> Self {
        Self::begin_in("workspace-write", "")
    }

    /// The same with this sandbox, and these further settings.
    fn begin_in(sandbox: &str, more: &str) -> Self {
        let (world, api) = (World::beside_its_work(), OpenAi::start());
        world.configure("[live]\ncodex = true\ngrace = \"0s\"\n");
        world.make_mailbox();
        let settings = format!(
            "model = \"gpt-5.5\"\nmodel_provider = \"scripted\"\ncheck_for_update_on_startup = false\napproval_policy = \"on-request\"\n\
             sandbox_mode = \"{sandbox}\"\n{more}[model_providers.scripted]\nname = \"scripted\"\nbase_url = \"{}\"\nenv_key = \"SCRIPTED_KEY\"\n\
             wire_api = \"responses\"\nsupports_websockets = false\n[analytics]\nenabled = false\n[features]\n\
             default_mode_request_user_input = true\n",
            api.url()
        );
        std::fs::create_dir_all(world.home().join(".codex")).unwrap();
        std::fs::write(world.home().join(".codex/config.toml"), settings).unwrap();
        // Codex runs each command in a login shell.
        let profile = format!("PATH=\"$PATH:{}\"\n", programs().display());
        std::fs::write(world.home().join(".profile"), profile).unwrap();
        let mut command = world.any_command(agents().join("node_modules/.bin/codex"));
        command.args(["app-server", "--listen", "unix://"]).env("SCRIPTED_KEY", "dummy").stdin(Stdio::null());
        let daemon = command.spawn().unwrap();
        let mut terminal = Terminal::connect(&socket(world.home()));
        let started = terminal.request("thread/start", json!({"cwd": world.work()}));
        let thread = started["thread"]["id"].as_str().unwrap().to_owned();
        Self { world, api, daemon, terminal, thread }
    }

    /// The person at the terminal says something, and the model does these steps.
    fn says(&mut self, text: &str, steps: Value) {
        self.api.on(text, steps);
        let input = json!([{"type": "text", "text": text, "text_elements": []}]);
        self.terminal.request("turn/start", json!({"threadId": self.thread, "input": input}));
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
}

impl Drop for Attended {
    fn drop(&mut self) {
        self.world.processes("app-server").into_iter().for_each(kill);
        let _ = self.daemon.wait();
    }
}

/// A command outside of codex's sandbox, which it asks about.
fn outside(command: &str) -> Value {
    json!({"tool": "exec_command", "input": {"cmd": command, "sandbox_permissions": "require_escalated", "justification": "needs it"}})
}

#[test]
fn a_closed_terminal_of_codex_takes_nothing_away() {
    needs!("acp-agents");
    let mut codex = Attended::begin();
    let options = json!([{"label": "merge", "description": "m"}, {"label": "keep", "description": "k"}]);
    let question = json!({"id": "q1", "header": "How", "question": "Merge or keep?", "options": options});
    let ask = json!({"tool": "request_user_input", "input": {"questions": [question]}});
    codex.says("ask me", json!([ask, outside("echo merged >> $HOME/effects"), {"text": "Done."}]));
    codex.terminal.awaits("item/tool/requestUserInput");
    let _watcher = codex.world.watch();
    let id = codex.waiting();
    codex.terminal.leave();
    codex.world.ok("ask-answer", &[&id, "merge"]);
    codex.world.closed(&id, "delivered", 1);
    // The turn went on without a terminal, and asks for more.
    let next = codex.waiting();
    assert_ne!(next, id);
    let told = codex.api.told().concat().join("\n");
    assert!(told.contains(r#""answers":["merge"]"#), "{told}");
    codex.world.ok("ask-answer", &["decline", &next, "--note", "use another branch"]);
    codex.world.closed(&next, "delivered", 1);
    until("the model reads the words", || codex.api.told().concat().join("\n").contains("use another branch"));
    assert!(codex.effects().is_empty());
}

#[test]
fn codexs_own_terminal_is_first() {
    needs!("acp-agents");
    let mut codex = Attended::begin();
    codex.says("do it", json!([outside("echo ran >> $HOME/effects"), {"text": "It is done."}]));
    let request = codex.terminal.awaits("item/commandExecution/requestApproval");
    let _watcher = codex.world.watch();
    let id = codex.waiting();
    codex.terminal.send(&json!({"id": request["id"], "result": {"decision": "decline"}}));
    let end = codex.world.closed(&id, "withdrawn", 1).remove(0);
    assert!(end["closed"]["why"].as_str().unwrap().contains("at its terminal"), "{end}");
    assert_ne!(codex.world.run("ask-answer", &[&id, "once"]).code(), 0);
    assert!(codex.effects().is_empty());
}

mod promises {
    use super::*;

    #[test]
    fn a_command_of_a_left_codex_session_runs_once() {
        needs!("acp-agents");
        let mut codex = Attended::begin();
        codex.says("do it", json!([outside("echo ran >> $HOME/effects"), {"text": "It is done."}]));
        codex.terminal.awaits("item/commandExecution/requestApproval");
        let Attended { world, .. } = &codex;
        let watcher = world.watch();
        let id = codex.waiting();
        assert!(world.document(&format!("pending/{id}.json"))["question"].as_str().unwrap().contains("echo ran"));
        assert!(codex.effects().is_empty());
        // On a busy machine, the daemon may not answer in time.
        let session = until("it is listed", || serde_json::from_str::<Value>(&world.ok("askbox", &["sessions", "--json"])).ok());
        assert_eq!(
            (&session["session_id"], &session["status"], &session["questions"]),
            (&json!(codex.thread), &json!("waiting"), &json!([id]))
        );
        assert_eq!((&session["name"], &session["cwd"]), (&json!("do it"), &json!(world.work())));
        codex.allow(&id);
        world.closed(&id, "delivered", 1);
        until("the command has run", || codex.effects() == ["ran"]);
        until("the model reads the result", || codex.api.told().iter().any(|told| told.len() > 1));
        watcher.stop();
        assert_eq!(codex.effects(), ["ran"]);
    }
}
