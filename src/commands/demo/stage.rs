//! The surroundings of the demo: the programs beside this one, a temporary folder, and an environment without the user's settings.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use crate::commands::demo::agent;
use askbox_mailbox::{Error, IoContext, Result};

const PROGRAMS: [&str; 4] = ["ask-post", "ask-answer", "checkpoint", "relaunch"];

/// The temporary folder of the demo.
pub struct Stage {
    /// The folder of the programs.
    pub programs: PathBuf,
    /// The path of the agent: this program.
    pub agent: PathBuf,
    /// The temporary folder.
    pub root: PathBuf,
    path: OsString,
    pace: u64,
}

impl Stage {
    /// Creates the folder and its files. `pace` is the agent's pause between two steps, in milliseconds.
    pub fn new(pace: u64, guide: &str) -> Result<Self> {
        let agent = std::env::current_exe().io("find", "this program")?;
        let programs = agent.parent().unwrap_or(Path::new("/")).to_path_buf();
        for name in PROGRAMS {
            check(&programs.join(name), name)?;
        }
        let root = tempfile::Builder::new().prefix("askbox-demo-").tempdir().io("make a folder in", std::env::temp_dir())?.keep();
        // The programs print the canonical path, so the demo uses it too.
        let root = root.canonicalize().io("find", &root)?;
        let inherited = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::join_paths(std::iter::once(programs.clone()).chain(std::env::split_paths(&inherited)))
            .map_err(|e| Error::failed(format!("the programs' folder cannot be put on PATH: {e}"), "move them to another folder"))?;
        let stage = Self { programs, agent, root, path, pace };
        for folder in [stage.work(), stage.root.join("claude")] {
            std::fs::create_dir(&folder).io("create", &folder)?;
        }
        let text = |s: String| toml::Value::String(s).to_string();
        let config = format!(
            "# The real one: askbox init\n[runner]\ndefault = \"demo\"\n\n[runner.demo]\nprogram = {}\nargs = [{:?}]\n",
            text(stage.agent.display().to_string()),
            agent::WORD,
        );
        for (path, content) in [(stage.config(), config.as_str()), (stage.work().join("guide.md"), guide)] {
            std::fs::write(&path, content).io("write", &path)?;
        }
        Ok(stage)
    }

    /// The mailbox.
    pub fn mailbox(&self) -> PathBuf {
        self.root.join("questions")
    }

    /// The agent's working folder.
    pub fn work(&self) -> PathBuf {
        self.root.join("work")
    }

    fn config(&self) -> PathBuf {
        self.root.join("config.toml")
    }

    /// A command in this folder, without the user's variables about runs and mailboxes.
    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        for (name, _) in std::env::vars_os() {
            if name.to_str().is_some_and(|n| n.starts_with("ASKBOX_") || n.starts_with("CLAUDE") || n == "WORKFLOW_ID") {
                command.env_remove(name);
            }
        }
        command
            .current_dir(self.work())
            .env("PATH", &self.path)
            .env("ASKBOX_DIR", self.mailbox())
            .env("ASKBOX_CONFIG", self.config())
            .env(agent::PACE, self.pace.to_string())
            .env("CLAUDE_CONFIG_DIR", self.root.join("claude"));
        command
    }

    /// One of the four programs.
    pub fn program(&self, name: &str) -> Command {
        self.command(self.programs.join(name))
    }
}

/// Checks that a program exists beside this one and has the same version.
fn check(path: &Path, name: &str) -> Result<()> {
    let hint = "build all programs: cargo build, then: target/debug/askbox demo; or: cargo install --profile dist --path .";
    let output = match Command::new(path).arg("--version").output() {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            return Err(Error::failed(format!("{name} is not beside this program ({})", path.display()), hint));
        }
        other => other.io("run", path)?,
    };
    let expected = format!("{name} {}", env!("CARGO_PKG_VERSION"));
    let found = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if found == expected {
        return Ok(());
    }
    Err(Error::failed(format!("{} is `{}`, not `{expected}`", path.display(), askbox_mailbox::text::excerpt(&found, 60)), hint))
}

/// Returns an error if a program of the demo failed.
pub fn succeeded(status: ExitStatus, what: &str) -> Result<()> {
    if status.success() { Ok(()) } else { Err(Error::failed(format!("{what} failed ({status})"), "see its words above")) }
}
