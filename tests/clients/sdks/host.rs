//! A host: a program that is written with an SDK and with the helper for it.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use crate::clients::client::{Client, link_modules, project};
use crate::support::files::write_program;
use crate::support::{ClaudeWorld, Outcome, output};

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sdk {
    Claude,
    OpenAi,
    LangGraph,
    Ai,
    ClaudeJs,
    OpenAiJs,
}

impl Sdk {
    pub const ALL: [Self; 6] = [Self::Claude, Self::OpenAi, Self::LangGraph, Self::Ai, Self::ClaudeJs, Self::OpenAiJs];

    /// Where the documented host lies.
    pub fn example(self) -> &'static str {
        match self {
            Self::Claude => "clients/python/examples/claude_agent_sdk_host.py",
            Self::OpenAi => "clients/python/examples/openai_agents_host.py",
            Self::LangGraph => "clients/python/examples/langgraph_host.py",
            Self::Ai => "clients/typescript/examples/ai-sdk-host.mjs",
            Self::ClaudeJs => "clients/typescript/examples/claude-host.mjs",
            Self::OpenAiJs => "clients/typescript/examples/openai-agents-host.mjs",
        }
    }

    /// The client that has the helper.
    pub fn client(self) -> Client {
        if self.example().ends_with(".py") { Client::Python } else { Client::Node }
    }

    pub fn is_claude(self) -> bool {
        matches!(self, Self::Claude | Self::ClaudeJs)
    }

    /// The name under which the helper keeps its state.
    pub fn key(self) -> &'static str {
        match self {
            Self::Claude | Self::ClaudeJs => "claude_agent_sdk",
            Self::OpenAi | Self::OpenAiJs => "openai_agents",
            Self::LangGraph => "langgraph",
            Self::Ai => "ai_sdk",
        }
    }
}

/// A world with one host as the runner of the workflows `sdk-*`. The host is not at work until it is started, by hand or by a watcher.
pub struct Host {
    pub world: ClaudeWorld,
    pub sdk: Sdk,
}

impl Host {
    pub fn new(sdk: Sdk) -> Self {
        let mut world = ClaudeWorld::new();
        let base = format!("{}/v1", world.api.url());
        world.set_env(&[("OPENAI_BASE_URL", &base), ("OPENAI_API_KEY", "dummy"), ("OPENAI_AGENTS_DISABLE_TRACING", "1")]);
        let path = world.path_of_a_user();
        world.set_path(path);
        let program = world.path("host");
        world.configure(&format!(
            "[relaunch]\nbackoff = \"20ms\"\nbackoff_max = \"40ms\"\nattempts = 3\n[runner.host]\nkind = \"program\"\nprogram = \"{}\"\n\
             args = [\"{{workflow_id}}\"]\nworkflows = [\"sdk-*\"]\n",
            program.display()
        ));
        let host = Self { world, sdk };
        let source = fs::read_to_string(project().join(sdk.example())).expect("the example");
        // The package of the SDK for Node would bring its own claude.
        let with_path = "const options = { pathToClaudeCodeExecutable: process.env.CLAUDE_PATH, allowedTools";
        host.write(&source.replace("const options = { allowedTools", with_path), "exec $HOST \"$@\"");
        host
    }

    /// Writes the host's source, and how the runner starts it: `$HOST` is the interpreter and the source.
    pub fn write(&self, source: &str, start: &str) {
        let world = &self.world;
        let script = self.sdk.client().bring(world, self.script(), source);
        let words = match self.sdk.client() {
            Client::Node => {
                let modules = std::env::var("ASKBOX_TEST_NODE_SDKS").expect("the SDKs");
                link_modules(world, &modules);
                "node --preserve-symlinks".to_owned()
            }
            Client::Python => {
                let python = std::env::var("ASKBOX_TEST_PYTHON_SDKS").expect("the SDKs");
                let sources = Client::Python.sources().join("src");
                format!("env PYTHONPATH={} PYTHONDONTWRITEBYTECODE=1 {python}", sources.display())
            }
        };
        let (starts, bin) = (world.path("starts"), world.path("bin"));
        let claude = "export CLAUDE_PATH=${CLAUDE_PATH:-$(command -v claude)}";
        // The scripts of a test, in `bin`, stand before askbox's programs, in a run too.
        let set = format!("HOST='{words} {}'\nPATH={}:$PATH\nexport PATH\n{claude}\n", script.display(), bin.display());
        write_program(&world.path("host"), &format!("#!/bin/sh\n{set}echo $$ >> {}\n{start}\n", starts.display()));
    }

    fn script(&self) -> &'static str {
        if self.sdk.client() == Client::Node { "sdk_host.mjs" } else { "sdk_host.py" }
    }

    /// Makes the host run on version 6 of the AI SDK.
    pub fn on_ai_6(&self) {
        self.rewrite("\"@ai-sdk/openai\"", "\"@ai-sdk/openai-3\"");
        let modules = self.world.path("scripts/node_modules");
        fs::remove_file(modules.join("ai")).expect("a link");
        std::os::unix::fs::symlink(modules.join("ai-6"), modules.join("ai")).expect("a link");
    }

    /// The source as it stands.
    pub fn source(&self) -> String {
        fs::read_to_string(self.world.path("scripts").join(self.script())).expect("the source")
    }

    /// Changes words of the source.
    pub fn rewrite(&self, from: &str, to: &str) {
        let source = self.source();
        assert!(source.contains(from), "{from}");
        self.write(&source.replace(from, to), "exec $HOST \"$@\"");
    }

    /// How often the host was started.
    pub fn starts(&self) -> usize {
        fs::read_to_string(self.world.path("starts")).unwrap_or_default().lines().count()
    }

    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = self.world.any_command(self.world.path("host"));
        command.args(words);
        command
    }

    /// Starts the host by hand. Its model makes these calls of the shell, one in each reply.
    pub fn begin(&self, workflow: &str, commands: &[&str]) -> Outcome {
        output(&mut self.command(&[workflow, &self.prompt(commands)]))
    }

    pub fn prompt(&self, commands: &[&str]) -> String {
        let tool = if self.sdk.is_claude() { "Bash" } else { "shell" };
        match self.sdk {
            Sdk::LangGraph => commands.join(" "),
            _ => format!(
                "Go. @@{}",
                json!(commands.iter().map(|command| json!({"tool": tool, "input": {"command": command}})).collect::<Vec<_>>())
            ),
        }
    }

    /// Starts the host and expects that it awaits a person.
    #[track_caller]
    pub fn asks(&self, workflow: &str, commands: &[&str]) -> Value {
        let outcome = self.begin(workflow, commands);
        assert_eq!(outcome.code(), 6, "{:?}: {}", self.sdk, outcome.words());
        self.world.document(&format!("pending/{workflow}.json"))
    }

    /// Answers every part of the question: permissions with `value`, and ports with 8080.
    #[track_caller]
    pub fn answer(&self, workflow: &str, value: &str) {
        self.answer_with(workflow, value, &[]);
    }

    /// The same with more words for `ask-answer`.
    #[track_caller]
    pub fn answer_with(&self, workflow: &str, value: &str, more: &[&str]) {
        let document = self.world.document(&format!("pending/{workflow}.json"));
        let Some(parts) = document["questions"].as_array() else {
            self.world.ok("ask-answer", &[&[workflow, value], more].concat());
            return;
        };
        let of = |part: &Value| if part["type"] == "number" { "8080" } else { value }.to_owned();
        let answers: Vec<_> = parts.iter().map(|part| format!("{}={}", part["id"].as_str().unwrap(), of(part))).collect();
        let words: Vec<_> = std::iter::once(workflow).chain(answers.iter().map(String::as_str)).chain(more.iter().copied()).collect();
        self.world.ok("ask-answer", &words);
    }

    /// The lines that the calls have left.
    pub fn effects(&self) -> Vec<String> {
        let text = fs::read_to_string(self.world.work().join("effects")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// The results of calls that the API has received, oldest first.
    pub fn told(&self) -> Vec<String> {
        self.world.api.turns().last().map(|turn| turn.tool_results()).unwrap_or_default()
    }

    /// The state that the helper has saved.
    pub fn saved(&self, workflow: &str) -> Value {
        let shown: Value = serde_json::from_str(&self.world.ok("checkpoint", &["show", workflow, "--json"])).unwrap();
        shown["state_variables"][self.sdk.key()].clone()
    }

    /// Saves another state in place of it.
    pub fn save(&self, workflow: &str, state: &Value) {
        let checkpoint = json!({"current_step": "x", "state_variables": {self.sdk.key(): state}}).to_string();
        let outcome = self.world.run_with("checkpoint", &["save", workflow, "--file", "-"], checkpoint.as_bytes());
        assert!(outcome.status.success(), "{}", outcome.words());
    }
}
