//! A folder to work in, and a scripted API that the agent talks to.

use std::ops::Deref;
use std::path::PathBuf;
use std::process::Command;

use crate::support::claude::api::{Api, Request};
use crate::support::{Outcome, World, output};
use serde_json::Value;

pub struct Scene {
    pub world: World,
    pub api: Api,
}

impl Deref for Scene {
    type Target = World;
    fn deref(&self) -> &World {
        &self.world
    }
}

pub const SESSION: &str = "0b0e4c6e-3c2f-4d4e-9d57-1f1f6a9a1c11";

impl Scene {
    pub fn new() -> Self {
        let (mut world, api) = (World::new(), Api::start());
        world.set_env(&[("ANTHROPIC_BASE_URL", &api.url()), ("ANTHROPIC_API_KEY", "dummy")]);
        Self { world, api }
    }

    /// The agent with these arguments. Calls need no permission.
    pub fn agent(&self, args: &[&str]) -> Command {
        let mut command = self.careful_agent(args);
        command.arg("--dangerously-skip-permissions");
        command
    }

    /// The same with the usual permissions.
    pub fn careful_agent(&self, args: &[&str]) -> Command {
        let mut command = self.command("ask-agent");
        command.args(args).env("PATH", self.path_with_programs());
        command
    }

    /// A new session with this task, to its end, with all events.
    #[track_caller]
    pub fn begin(&self, task: &str) -> Outcome {
        output(self.agent(&["--output-format", "stream-json", "--session-id", SESSION]).arg(task))
    }

    /// The same session goes on.
    #[track_caller]
    pub fn go_on(&self) -> Outcome {
        output(&mut self.agent(&["--output-format", "stream-json", "--resume", SESSION]))
    }

    /// Defines an agent of the project.
    pub fn define(&self, name: &str, head: &str, prompt: &str) {
        let folder = self.path(".claude/agents");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(format!("{name}.md")), format!("---\nname: {name}\n{head}\n---\n\n{prompt}\n")).unwrap();
    }

    /// Writes the project's settings.
    pub fn settings(&self, settings: &Value) {
        std::fs::create_dir_all(self.path(".claude")).unwrap();
        std::fs::write(self.path(".claude/settings.json"), settings.to_string()).unwrap();
    }

    /// The session's transcript.
    pub fn transcript(&self) -> PathBuf {
        let folder = self.root().to_str().unwrap().replace(|c: char| !c.is_ascii_alphanumeric(), "-");
        self.path(format!(".claude/projects/{folder}/{SESSION}.jsonl"))
    }

    pub fn turns(&self) -> Vec<Request> {
        self.api.turns()
    }
}

/// The blocks of a message, without the marks for the cache.
pub fn blocks(message: &Value) -> Vec<Value> {
    let mut blocks = message["content"].as_array().cloned().unwrap_or_default();
    for block in &mut blocks {
        block.as_object_mut().unwrap().shift_remove("cache_control");
    }
    blocks
}

/// The system prompt of a request.
pub fn system(request: &Request) -> String {
    request.body["system"][0]["text"].as_str().unwrap().to_owned()
}
