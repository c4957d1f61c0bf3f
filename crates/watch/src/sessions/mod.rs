//! The sessions of agent programs on this machine, for people who look: what each of them does, what was said in it, and what it offers.
//! A page or an inbox knows no agent. Reading changes nothing.
//!
//! | file | idea |
//! |---|---|
//! | `claude`, `codex` | the sessions of this agent |
//! | `run` | the runs of askbox that are at work |

mod claude;
mod codex;
mod run;

use std::path::{Path, PathBuf};

use crate::codex::Doing;
use askbox_agent::conversation::Conversation;
use askbox_config::Config;
use askbox_mailbox::prompts::Agent;
use askbox_mailbox::{Error, IoContext, Mailbox, Result, Time, WorkflowId, disk, text};

/// A session whose agent runs.
#[derive(Debug)]
pub struct Session {
    /// Its agent.
    pub agent: Agent,
    /// Its id.
    pub id: String,
    /// Its name, if it has one.
    pub title: Option<String>,
    /// Its working folder.
    pub cwd: PathBuf,
    /// Its status, if it is known.
    pub doing: Option<Doing>,
    /// Its status, in words for people.
    pub does: String,
    /// When its status changed.
    pub since: Option<Time>,
    /// What a person can do with it from elsewhere.
    pub offers: Offers,
    /// The workflow, if it is a run of askbox.
    pub run: Option<WorkflowId>,
}

impl Session {
    /// The name of its agent, or that it is a run of askbox.
    pub fn of_whom(&self) -> &'static str {
        if self.run.is_some() { "run of askbox" } else { self.agent.name() }
    }
}

/// What a person can do with a session from elsewhere, in words.
#[derive(Debug, Clone, Copy, Default)]
pub struct Offers {
    /// How the model reads the words of a prompt. `None` if the session takes none.
    pub words: Option<&'static str>,
    /// What a stop does. `None` if the session cannot be stopped now.
    pub stop: Option<&'static str>,
}

/// The sessions, those that wait for their user first, and the reason why some are missing.
///
/// # Errors
/// If an agent's sessions have no place.
pub fn all(mailbox: &Mailbox) -> Result<(Vec<Session>, Option<Error>)> {
    let (of_codex, problem) = codex::all().map_or_else(|e| (Vec::new(), Some(e)), |all| (all, None));
    let mut all = run::all(mailbox);
    // The agent of a run keeps a record of its session too.
    let others = claude::all()?.into_iter().chain(of_codex).filter(|other| all.iter().all(|run| run.id != other.id)).collect::<Vec<_>>();
    all.extend(others);
    all.sort_by_key(|session| (session.doing != Some(Doing::Waits), std::cmp::Reverse(session.since)));
    Ok((all, problem))
}

/// The session with this id, if its agent runs.
///
/// # Errors
/// Those of [`all`], or if an agent does not answer.
pub fn of_id(mailbox: &Mailbox, id: &str) -> Result<Option<Session>> {
    let is_it = |session: &Session| session.id == id;
    match run::all(mailbox).into_iter().chain(claude::all()?).find(is_it) {
        None if codex::may_be(id) => Ok(codex::all()?.into_iter().find(is_it)),
        found => Ok(found),
    }
}

/// The file with what was said in a session, and its agent.
///
/// # Errors
/// Those of [`all`].
pub fn file(id: &str) -> Result<Option<(Agent, PathBuf)>> {
    let of_claude = claude::file(id)?.map(|file| (Agent::Claude, file));
    Ok(of_claude.or_else(|| Some((Agent::Codex, codex::file(id)?))))
}

/// Reads the end of such a file where it lies, within bounds.
///
/// # Errors
/// If the file cannot be read.
pub fn read(agent: Agent, file: &Path) -> Result<Conversation> {
    let opened = disk::open_of_another_program(file);
    match agent {
        Agent::Claude => opened.and_then(askbox_agent::conversation::read),
        Agent::Codex => opened.and_then(askbox_agent::conversation::codex::read),
    }
    .io("read", file)
}

/// A folder whose files change with the status of sessions.
///
/// # Errors
/// Those of [`all`].
pub fn folder() -> Result<PathBuf> {
    claude::folder().map(|folder| folder.join("sessions"))
}

/// The reason why nobody sends a kept prompt to a session that takes words. `None` if a watcher does.
pub fn unsent_because(agent: Agent, mailbox: &Mailbox, config: Option<&Config>) -> Option<String> {
    match agent {
        Agent::Claude => claude::unsent_because(mailbox),
        Agent::Codex => codex::unsent_because(mailbox, config),
    }
}

/// The name of a session's folder.
pub fn project(cwd: &Path) -> String {
    cwd.file_name().map(|name| text::excerpt(&name.to_string_lossy(), 40)).unwrap_or_default()
}
