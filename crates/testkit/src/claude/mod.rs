//! A world with the real `claude`, whose API is a script on loopback. This file makes the world, and runs `claude` as a user does.
//!
//! | file | content |
//! |---|---|
//! | `relaunches` | askbox in this world: questions, watchers and the launches of `claude` |
//! | `live` | a `claude` that is talked to while it runs |
//! | `version` | which version of `claude` it is, and what single versions lack |
//! | `polling` | the scheme of the first sketch, to be compared with |
//! | `api`, `script`, `openai` | the API: what it was sent, and the scripts that say what it replies |

pub mod api;
pub mod live;
mod openai;
pub mod polling;
mod relaunches;
mod script;
pub mod version;

use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use crate::{Outcome, Watcher, World, feed, files};
use api::Api;

pub use relaunches::{Launch, bash, make_fifo};

/// A world with the real `claude`, which is not on `PATH` until [`ClaudeWorld::install_claude`].
pub struct ClaudeWorld {
    pub api: Api,
    program: PathBuf,
    watcher: Option<Watcher>,
    world: World,
}

impl Deref for ClaudeWorld {
    type Target = World;
    fn deref(&self) -> &World {
        &self.world
    }
}

impl DerefMut for ClaudeWorld {
    fn deref_mut(&mut self) -> &mut World {
        &mut self.world
    }
}

/// The mode that a supervisor passes too: the default of single versions is another one.
pub const MODE: [&str; 2] = ["--permission-mode", "default"];

impl ClaudeWorld {
    /// `claude` and its API alone: askbox cannot launch it.
    #[track_caller]
    pub fn without_askbox() -> Self {
        let (api, program) = (Api::start(), claude());
        let mut world = World::beside_its_work();
        let path = |below: &str| world.path(below).display().to_string();
        let (config, tmp) = (path("config"), path("tmp"));
        world.set_path(format!("{}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", path("bin")));
        world.set_env(&[("CLAUDE_CONFIG_DIR", &config), ("TMPDIR", &tmp)]);
        world.set_env(&[("ANTHROPIC_BASE_URL", &api.url()), ("ANTHROPIC_API_KEY", "dummy")]);
        let quiet = ["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "DISABLE_AUTOUPDATER", "DISABLE_TELEMETRY", "DISABLE_ERROR_REPORTING"];
        world.set_env(&quiet.map(|name| (name, "1")));
        // After five seconds `claude` would begin without a server that a busy machine has not started yet.
        world.set_env(&[("MCP_CONNECT_TIMEOUT_MS", "120000")]);
        if rustix::process::geteuid().is_root() {
            // Without it `claude` refuses some permission modes to root.
            world.set_env(&[("IS_SANDBOX", "1")]);
        }
        Self { api, program, watcher: None, world }
    }

    /// A world with an askbox that launches `claude`, and a note of each launch.
    #[track_caller]
    pub fn new() -> Self {
        let world = Self::without_askbox();
        world.install_claude();
        world
    }

    /// The same, with a `claude` that has been used in the work folder before, so that it asks for nothing at its start in a terminal.
    #[track_caller]
    pub fn used_before() -> Self {
        let world = Self::new();
        let work = world.work().display().to_string();
        let known = json!({
            "hasCompletedOnboarding": true, "theme": "dark", "customApiKeyResponses": {"approved": ["dummy"], "rejected": []},
            "projects": {work: {"hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true}},
        });
        std::fs::write(world.claude_config().join(".claude.json"), known.to_string()).expect("its state");
        world
    }

    /// Where the pinned `claude` lies.
    pub fn claude_program(&self) -> &Path {
        &self.program
    }

    /// The folder of `claude`'s configuration and transcripts.
    pub fn claude_config(&self) -> PathBuf {
        self.path("config")
    }

    /// Puts a shell script on the agent's `PATH`.
    pub fn add_script(&self, name: &str, body: &str) {
        files::write_program(&self.path("bin").join(name), &format!("#!/bin/sh\n{body}\n"));
    }

    /// `claude` as a user starts it, without arguments yet.
    pub fn claude(&self) -> Command {
        let mut command = self.any_command(&self.program);
        command.env("PATH", self.path_of_a_user());
        command
    }

    /// The same behind a wrapper such as `["setpriv", "--pdeathsig", "TERM"]`.
    pub fn claude_behind(&self, wrapper: &[&str]) -> Command {
        let mut command = self.any_command(wrapper[0]);
        command.args(&wrapper[1..]).arg(&self.program).env("PATH", self.path_of_a_user());
        command
    }

    /// A user's `PATH`: the scripts of the test, then askbox's programs, then the programs of the system.
    pub fn path_of_a_user(&self) -> String {
        format!("{}:{}", self.path("bin").display(), self.path_with_programs())
    }

    /// `claude -p` with the prompt on its standard input, to its end.
    #[track_caller]
    pub fn prompt(&self, prompt: &str, args: &[&str]) -> Outcome {
        feed(self.claude().args(MODE).arg("-p").args(args), prompt.as_bytes())
    }

    /// The same with the stream of events as its output.
    #[track_caller]
    pub fn prompt_stream(&self, prompt: &str, args: &[&str]) -> Outcome {
        self.prompt(prompt, &[&["--output-format", "stream-json", "--verbose"], args].concat())
    }

    /// The transcript of a session, if it has begun.
    pub fn transcript_of(&self, session: &str) -> Option<PathBuf> {
        let projects = std::fs::read_dir(self.claude_config().join("projects")).ok()?;
        projects.filter_map(Result::ok).map(|project| project.path().join(format!("{session}.jsonl"))).find(|path| path.is_file())
    }
}

/// The path that `tests/run` puts into `ASKBOX_TEST_CLAUDE`. Without it the test fails.
#[track_caller]
fn claude() -> PathBuf {
    let how = "run the tests with `tests/run`, which fetches the pinned `claude` and sets ASKBOX_TEST_CLAUDE";
    let path = std::env::var_os("ASKBOX_TEST_CLAUDE").map(PathBuf::from);
    let path = path.unwrap_or_else(|| panic!("ASKBOX_TEST_CLAUDE is not set: {how}"));
    assert!(path.is_file(), "ASKBOX_TEST_CLAUDE names {}, which is not a file: {how}", path.display());
    path
}

/// A new random UUID, as the ids of sessions and messages must be.
pub fn uuid() -> String {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/uuid").expect("a random uuid");
    text.trim().to_owned()
}
