//! The sessions of opencode. The plugin in its process tells of those that were at work there, and what was said in them.

use std::path::PathBuf;

use crate::codex::Doing;
use crate::of_claude;
use crate::opencode::{self, OpencodeSession};
use crate::session::{Offers, Said, Session};
use askbox_agent::conversation::opencode as conversation;
use askbox_cli::program;
use askbox_config::Config;
use askbox_mailbox::prompts::Agent;
use askbox_mailbox::{Mailbox, layout};

const WORDS: &str =
    "opencode reads it as your own words, in the mode and by the model of the last ones. A busy session gets it when it is idle.";
const STOP: &str = "Its turn ends at once, and an open dialog with it. Kept prompts are sent next.";
/// The most messages that are shown.
const MOST: usize = 60;

/// True for the ids that opencode gives.
pub(super) fn may_be(id: &str) -> bool {
    id.starts_with("ses_")
}

/// The sessions of opencode, as far as its processes answer in time.
pub fn all() -> Vec<Session> {
    opencode::sessions().into_iter().map(seen).collect()
}

pub(super) fn said(id: &str) -> Option<Said> {
    let session = opencode::sessions().into_iter().find(|session| session.id == id)?;
    let messages = conversation::messages(session.messages(MOST).ok()?);
    let is_cut = messages.len() >= MOST;
    // No file is there: its folder has the database whose changes tell of it.
    Some(Said { agent: Agent::Opencode, at: folder()?.join(id), conversation: conversation::read(&messages, is_cut) })
}

/// The folder of opencode's database.
pub(super) fn folder() -> Option<PathBuf> {
    let data = program::env("XDG_DATA_HOME").map(PathBuf::from).or_else(|| Some(layout::home().ok()?.join(".local/share")))?;
    Some(data.join("opencode"))
}

pub(super) fn unsent_because(mailbox: &Mailbox, config: Option<&Config>) -> Option<String> {
    let is_off = config.is_some_and(|config| !config.live.opencode);
    if is_off { Some("live.opencode is off".to_owned()) } else { of_claude::unsent_because(mailbox) }
}

fn seen(session: OpencodeSession) -> Session {
    let doing = session.doing();
    Session {
        agent: Agent::Opencode,
        does: doing.in_words().into(),
        offers: Offers { words: Some(WORDS.into()), stop: (doing != Doing::Rests).then_some(STOP.into()) },
        doing: Some(doing),
        since: session.since(),
        id: session.id,
        title: Some(session.title),
        cwd: session.cwd,
        run: None,
        config_dir: None,
    }
}
