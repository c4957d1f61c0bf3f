//! The sessions of all agents, and what was said in one.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use crate::codex::Doing;
use crate::session::{Offers, Said, Session};
use crate::{of_claude, of_codex, of_opencode, of_runs};
use askbox_agent::conversation::{self, Conversation};
use askbox_config::Config;
use askbox_mailbox::prompts::Agent;
use askbox_mailbox::{Error, IoContext, Mailbox, Result, disk, text};

/// The sessions, those that wait for their user first, and the reason why some are missing.
///
/// # Errors
/// If an agent's sessions have no place.
pub fn all(mailbox: &Mailbox) -> Result<(Vec<Session>, Option<Error>)> {
    let (of_codex, problem) = of_codex::all().map_or_else(|e| (Vec::new(), Some(e)), |all| (all, None));
    let mut all = of_runs::all(mailbox);
    // The agent of a run keeps a record of its session too.
    let others = of_claude::all()?
        .into_iter()
        .chain(of_codex)
        .chain(of_opencode::all())
        .filter(|other| all.iter().all(|run| run.id != other.id))
        .collect::<Vec<_>>();
    all.extend(others);
    all.sort_by_key(|session| (session.doing != Some(Doing::Waits), std::cmp::Reverse(session.since)));
    Ok((all, problem))
}

/// The session with this id, if its agent runs.
///
/// # Errors
/// If an agent's sessions have no place, or if an agent does not answer.
pub fn of_id(mailbox: &Mailbox, id: &str) -> Result<Option<Session>> {
    let is_it = |session: &Session| session.id == id;
    match of_runs::all(mailbox).into_iter().chain(of_claude::all()?).find(is_it) {
        None if of_codex::may_be(id) => Ok(of_codex::all()?.into_iter().find(is_it)),
        None if of_opencode::may_be(id) => Ok(of_opencode::all().into_iter().find(is_it)),
        found => Ok(found),
    }
}

/// The end of what was said in a session, within bounds, read where it lies. `None` if nothing was. `live` is the session, if its agent runs.
///
/// # Errors
/// If an agent's sessions have no place, or if its file cannot be read.
pub fn said(id: &str, live: Option<&Session>) -> Result<Option<Said>> {
    let read = |agent, at: PathBuf, read: fn(File) -> io::Result<Conversation>| {
        let conversation = disk::open_of_another_program(&at).and_then(read).io("read", &at)?;
        Ok(Some(Said { agent, at, conversation }))
    };
    match of_claude::file(id, live)? {
        Some(file) => read(Agent::Claude, file, conversation::read),
        None if of_opencode::may_be(id) => Ok(of_opencode::said(id)),
        None => of_codex::file(id).map_or(Ok(None), |file| read(Agent::Codex, file, conversation::codex::read)),
    }
}

/// The offers of a session that is live, or has ended.
pub fn offers(session: Option<&Session>, said: Option<&Said>) -> Offers {
    let of_ended = || Offers { words: said.filter(|said| said.agent == Agent::Claude).map(|_| of_claude::ENDED.into()), stop: None };
    session.map_or_else(of_ended, |session| session.offers.clone())
}

/// Folders whose files change with the status of sessions.
///
/// # Errors
/// If an agent's sessions have no place.
pub fn folders() -> Result<Vec<PathBuf>> {
    let of_claude = of_claude::folder()?.join("sessions");
    Ok([of_claude].into_iter().chain(of_opencode::folder().filter(|folder| disk::exists(folder))).collect())
}

/// The reason why nobody sends a kept prompt to a session that takes words. `None` if a watcher does.
pub fn unsent_because(agent: Agent, mailbox: &Mailbox, config: Option<&Config>) -> Option<String> {
    match agent {
        Agent::Claude => of_claude::unsent_because(mailbox),
        Agent::Codex => of_codex::unsent_because(mailbox, config),
        Agent::Opencode => of_opencode::unsent_because(mailbox, config),
    }
}

/// The name of a session's folder.
pub fn project(cwd: &Path) -> String {
    cwd.file_name().map(|name| text::excerpt(&name.to_string_lossy(), 40)).unwrap_or_default()
}
