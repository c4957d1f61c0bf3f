//! Codex's own folder, whether Codex is used here, and what `askbox-live` finds out from its daemon for people who look.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use askbox_cli::program;
use askbox_config::Config;
use askbox_mailbox::{Error, IoContext, Mailbox, Question, Result, Time, document, time};
use askbox_run::{programs, story};

/// The folder in Codex's own folder that its daemon makes for its socket.
const DAEMON: &str = "app-server-control";

/// Codex's own folder. `None` if it has no place, because `$HOME` is not set.
pub fn folder() -> Option<PathBuf> {
    program::env("CODEX_HOME").map(PathBuf::from).or_else(|| program::env("HOME").map(|home| Path::new(&home).join(".codex")))
}

/// The socket of the daemon below Codex's own folder.
pub fn socket_in(folder: &Path) -> PathBuf {
    folder.join(DAEMON).join("app-server-control.sock")
}

/// True if a person of this machine uses Codex: the program is on PATH, or its daemon has run.
pub fn is_used() -> bool {
    programs::find(Path::new("codex")).is_ok() || folder().is_some_and(|folder| folder.join(DAEMON).is_dir())
}

/// The program that talks with the daemon.
pub const LIVE: &str = "askbox-live";

/// A session of a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodexSession {
    /// Its id. `codex resume` takes it.
    pub id: String,
    /// Its name, or else the beginning of its first message.
    pub title: Option<String>,
    /// Its working folder.
    pub cwd: PathBuf,
    /// Its status.
    pub doing: Doing,
    /// When it last changed.
    pub since: Option<Time>,
}

/// The status of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Doing {
    /// The session, or a subagent of it, waits for its user.
    Waits,
    /// The model or a tool is at work.
    Works,
    /// The session has nothing to do.
    Rests,
}

impl Doing {
    /// The status, in words for people.
    pub fn in_words(self) -> &'static str {
        match self {
            Self::Waits => "waits at its terminal",
            Self::Works => "busy",
            Self::Rests => "idle",
        }
    }
}

/// What `askbox-live codex --about` prints: what it found out, or the problem and its hint.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum About<T> {
    /// What it found out.
    Found(T),
    /// The problem, and its hint.
    Problem(String, String),
}

/// The sessions that the daemon has loaded. `None` if no daemon runs, or `askbox-live` is not installed.
///
/// # Errors
/// If the daemon does not answer in this time, or not as expected.
pub fn sessions(within: Duration) -> Result<Option<Vec<CodexSession>>> {
    Ok(about(&["--within", &time::human(within), "--about"])?.flatten())
}

/// Says why the session of Codex that takes this answer is not told of it. `None` if it is told once it rests, or if no session of Codex takes
/// the answer.
///
/// # Errors
/// If the daemon does not answer within a second, or not as expected.
pub fn untold(mailbox: &Mailbox, config: Option<&Config>, question: &Question) -> Result<Option<String>> {
    let Some(session) = question.codex_thread() else { return Ok(None) };
    if let Some(why) = story::no_news_for_codex(mailbox, config) {
        return Ok(Some(why.to_owned()));
    }
    let why = about::<Option<String>>(&[&format!("--about={session}")])?;
    Ok(why.unwrap_or_else(|| Some(format!("the program {LIVE} is not installed"))))
}

/// Asks the daemon by `askbox-live`. `None` if that is not installed.
fn about<T: DeserializeOwned>(args: &[&str]) -> Result<Option<T>> {
    let Ok(live) = programs::find(&programs::beside(LIVE)) else { return Ok(None) };
    let mut command = Command::new(live);
    let said = command.arg("codex").args(args).stdin(Stdio::null()).stderr(Stdio::null()).output().io("run", LIVE)?;
    match document::json(&said.stdout) {
        Some(About::Found(found)) => Ok(Some(found)),
        Some(About::Problem(problem, hint)) => Err(Error::failed(problem, hint)),
        None => Err(Error::failed(format!("{LIVE} has failed: {}", said.status), "install the same release of all programs")),
    }
}
