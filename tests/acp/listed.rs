//! `askbox sessions` beside the real kimi, copilot and qwen, each in a real terminal.

use std::path::Path;

use serde_json::{Value, json};

use crate::acp::scene::agents;
use crate::support::openai::OpenAi;
use crate::support::{Terminal, World, needs, until};

/// A program in a terminal, with a scripted model.
struct Attended {
    world: World,
    api: OpenAi,
    program: &'static str,
}

impl Attended {
    fn begin(program: &'static str, packages: &Path) -> Self {
        let mut world = World::beside_its_work();
        let bin = packages.join("node_modules/.bin");
        world.set_path(format!("{}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", bin.display()));
        Self { world, api: OpenAi::start(), program }
    }

    /// A terminal that runs the program.
    fn terminal(&self, variables: &[&str]) -> Terminal<'_> {
        Terminal::running(&self.world, (140, 45), variables, &[self.program])
    }

    /// The session of the program.
    fn session(&self) -> Option<Value> {
        let all = self.world.ok("askbox", &["sessions", "--json"]);
        let mut all = all.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        all.find(|session| session["program"] == self.program)
    }

    fn is_listed_as(&self, status: &str) {
        until("the session is listed", || self.session().is_some_and(|session| session["status"] == status));
    }

    /// The person at the terminal says something, and the model calls a tool.
    fn says(&self, terminal: &Terminal<'_>, text: &str, call: Value) {
        self.api.on(text, json!([call, {"text": "It is over."}]));
        terminal.paste(text);
        terminal.see(text);
        terminal.press(&["Enter"]);
    }

    /// The program is killed without a chance to tidy up.
    fn is_killed(&self, pattern: &str) {
        self.world.processes(pattern).into_iter().for_each(crate::support::kill);
    }
}

#[test]
fn a_dialog_of_kimi_shows_in_the_list_of_sessions() {
    needs!("acp-agents", "tmux");
    let kimi = Attended::begin("kimi", &agents());
    let url = format!("KIMI_MODEL_BASE_URL={}", kimi.api.url());
    let model = [
        "KIMI_MODEL_NAME=scripted",
        "KIMI_MODEL_API_KEY=dummy",
        "KIMI_MODEL_PROVIDER_TYPE=openai",
        "KIMI_CODE_NO_AUTO_UPDATE=1",
        url.as_str(),
    ];
    let terminal = kimi.terminal(&model);
    terminal.see("Trust this folder");
    terminal.press(&["Enter"]);
    terminal.see("context: 0%");
    kimi.says(&terminal, "do the first part", json!({"tool": "Bash", "input": {"command": "touch f1"}}));
    terminal.see("Approve once");
    kimi.is_listed_as("waiting");
    assert_eq!(kimi.session().unwrap()["waiting_for"], "permission");
    terminal.burst(&["1"]);
    terminal.see("It is over.");
    kimi.is_listed_as("idle");
    let option = |label: &str| json!({"label": label, "description": label});
    let question =
        json!({"question": "Merge or keep?", "header": "How", "multi_select": false, "options": [option("merge"), option("keep")]});
    kimi.says(&terminal, "ask me now", json!({"tool": "AskUserQuestion", "input": {"questions": [question]}}));
    terminal.see("Merge or keep?");
    until("the question is listed", || kimi.session().is_some_and(|session| session["waiting_for"] == "an answer"));
    terminal.burst(&["Escape"]);
    kimi.is_listed_as("idle");
}

#[test]
#[ignore = "tests/run agents runs it"]
fn a_dialog_of_copilot_shows_in_the_list_of_sessions() {
    let copilot = Attended::begin("copilot", &crate::acp::more::folder());
    let url = format!("COPILOT_PROVIDER_BASE_URL={}", copilot.api.url());
    let model = [
        "COPILOT_PROVIDER_API_KEY=dummy",
        "COPILOT_MODEL=gpt-5.4",
        "COPILOT_PROVIDER_WIRE_API=responses",
        "COPILOT_OFFLINE=true",
        url.as_str(),
    ];
    let terminal = copilot.terminal(&model);
    terminal.see("Do you trust the files");
    terminal.press(&["Enter"]);
    terminal.see("/ commands");
    copilot.is_listed_as("idle");
    let call = json!({"tool": "bash", "input": {"command": "touch f1", "description": "a command", "mode": "sync"}});
    copilot.says(&terminal, "do the first part", call.clone());
    terminal.see("Do you want to run this command?");
    copilot.is_listed_as("waiting");
    let session = copilot.session().unwrap();
    assert_eq!((session["waiting_for"].as_str(), session["cwd"].as_str()), (Some("permission"), copilot.world.work().to_str()));
    terminal.press(&["Enter"]);
    terminal.see("It is over.");
    copilot.is_listed_as("idle");
    copilot.says(&terminal, "do the other part", call);
    copilot.is_listed_as("waiting");
    copilot.is_killed("copilot");
    until("the killed session is gone", || copilot.session().is_none());
}

#[test]
#[ignore = "tests/run agents runs it"]
fn a_session_of_qwen_shows_in_the_list_of_sessions() {
    let qwen = Attended::begin("qwen", &crate::acp::more::folder());
    let settings = json!({"general": {"disableAutoUpdate": true}, "security": {"auth": {"selectedType": "openai"}, "folderTrust": {"enabled": false}},
        "privacy": {"usageStatisticsEnabled": false}, "telemetry": {"enabled": false}});
    crate::acp::more::settings(&qwen.world, ".qwen/settings.json", &settings);
    let url = format!("OPENAI_BASE_URL={}", qwen.api.url());
    let terminal = qwen.terminal(&["OPENAI_API_KEY=dummy", "OPENAI_MODEL=scripted", &url]);
    terminal.see("Type your message");
    let session = until("the session is listed", || qwen.session());
    assert_eq!((&session["status"], session["cwd"].as_str()), (&Value::Null, qwen.world.work().to_str()));
    qwen.is_killed("qwen");
    until("the killed session is gone", || qwen.session().is_none());
}
