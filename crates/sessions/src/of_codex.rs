//! The sessions of Codex. Its daemon tells of those that it has loaded, and writes a file of each.

use std::fs::DirEntry;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::codex::{self, CodexSession, Doing};
use crate::session::{Offers, Session};
use askbox_config::Config;
use askbox_mailbox::prompts::Agent;
use askbox_mailbox::{Mailbox, Result, SessionId, disk};
use askbox_run::story;

const WORDS: &str = "Codex reads it as your own words. A busy session gets it when it is idle.";
const STOP: &str = "Its turn ends at once, and an open dialog with it. A command that runs may run on in the background: then you are told. \
                    Kept prompts are sent next.";
/// How long the daemon may take to list its sessions.
const PATIENCE: Duration = Duration::from_secs(2);
/// The most entries of a folder that are looked at.
const MOST: usize = 10_000;

/// True for the ids that Codex gives.
pub(super) fn may_be(id: &str) -> bool {
    id.parse::<SessionId>().is_ok()
}

/// The sessions of Codex that its daemon has loaded.
///
/// # Errors
/// If the daemon does not answer in time, or not as expected.
pub fn all() -> Result<Vec<Session>> {
    // Without a socket no daemon runs.
    if !codex::folder().is_some_and(|folder| disk::exists(codex::socket_in(&folder))) {
        return Ok(Vec::new());
    }
    Ok(codex::sessions(PATIENCE)?.into_iter().flatten().map(seen).collect())
}

pub(super) fn unsent_because(mailbox: &Mailbox, config: Option<&Config>) -> Option<String> {
    story::no_news_for_codex(mailbox, config).map(str::to_owned)
}

fn seen(session: CodexSession) -> Session {
    Session {
        agent: Agent::Codex,
        does: session.doing.in_words().into(),
        offers: Offers { words: Some(WORDS.into()), stop: (session.doing != Doing::Rests).then_some(STOP.into()) },
        doing: Some(session.doing),
        since: session.since,
        id: session.id,
        title: session.title,
        cwd: session.cwd,
        run: None,
        config_dir: None,
    }
}

/// The file of a session of Codex: `sessions/YEAR/MONTH/DAY/rollout-TIME-ID.jsonl`.
pub fn file(id: &str) -> Option<PathBuf> {
    let end = format!("-{}.jsonl", id.parse::<SessionId>().ok()?);
    let below = |folder: &Path| -> Vec<PathBuf> {
        let mut all: Vec<_> = std::fs::read_dir(folder).into_iter().flatten().flatten().take(MOST).map(|e: DirEntry| e.path()).collect();
        all.sort_unstable_by(|one, other| other.cmp(one));
        all
    };
    let sessions = codex::folder()?.join("sessions");
    let days = below(&sessions).into_iter().flat_map(|year| below(&year)).flat_map(|month| below(&month));
    days.flat_map(|day| below(&day)).find(|file| file.file_name().is_some_and(|name| name.to_string_lossy().ends_with(&end)))
}
