//! The sessions of Claude Code. Their records and their transcripts lie in its configuration folder.

use std::path::PathBuf;

use crate::codex::Doing;
use crate::session::{Offers, Session};
use askbox_agent::sessions::claude as live;
use askbox_agent::{claude, transcript};
use askbox_mailbox::prompts::Agent;
use askbox_mailbox::{Error, Mailbox, Result};
use askbox_run::story::cause;

const WORDS: &str = "Claude Code reads it as another session's message. It approves nothing. A busy session gets it when it is idle.";

const STOP: &str = "It stops before its next tool call, by askbox's plugin. At once: only Esc at its terminal.";

/// The offer of a session that has ended.
pub(super) const ENDED: &str =
    "It has ended. Your words start a run of askbox in a copy of it, without a terminal, and with what runs may do.";

pub(super) fn folder() -> Result<PathBuf> {
    let none = || Error::failed("the sessions of Claude Code have no place: $HOME is unset", "set $HOME for the page");
    claude::config_dir(|name| std::env::var_os(name)).ok_or_else(none)
}

pub(super) fn all() -> Result<Vec<Session>> {
    Ok(live::all(&folder()?).into_iter().map(seen).collect())
}

/// The transcript of a session of Claude Code. `run` is its run, if that is live.
///
/// # Errors
/// If its folder has no place.
pub fn file(id: &str, run: Option<&Session>) -> Result<Option<PathBuf>> {
    let own = run.and_then(|run| run.config_dir.clone());
    Ok(transcript::find(&own.map_or_else(folder, Ok)?, id))
}

pub(super) fn unsent_because(mailbox: &Mailbox) -> Option<String> {
    cause::no_watcher(mailbox).map(|cause| cause.why)
}

fn seen(session: live::Session) -> Session {
    let works = !session.is_idle() && session.status.is_some();
    Session {
        agent: Agent::Claude,
        doing: match session.status.as_deref() {
            Some("waiting") => Some(Doing::Waits),
            Some("busy") => Some(Doing::Works),
            Some("idle") => Some(Doing::Rests),
            _ => None,
        },
        does: session.in_words(),
        since: session.since(),
        offers: Offers { words: session.inbox().map(|_| WORDS.into()), stop: works.then_some(STOP.into()) },
        id: session.session_id,
        title: session.name,
        cwd: session.cwd,
        run: None,
        config_dir: None,
    }
}
