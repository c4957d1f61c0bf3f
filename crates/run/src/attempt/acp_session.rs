//! The session that an attempt opened with an agent that speaks ACP: `acp.json` in the folder of the attempt.
//!
//! Such an agent chooses the id of its session itself. The file names it, and is durable before the agent gets its first message. So an
//! attempt without the file has told its agent nothing, and an attempt with the file may have.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::attempt::record::{self, Run};
use askbox_agent::events::{Event, EventKind};
use askbox_mailbox::disk;
use askbox_mailbox::error::Result;
use askbox_mailbox::id::{RoundId, SessionId, WorkflowId};
use askbox_mailbox::listing::list;
use askbox_mailbox::time::Time;
use askbox_mailbox::{Mailbox, document};

/// The name of the file.
pub const FILE: &str = "acp.json";
/// The largest file, in bytes.
const LARGEST: u64 = 64 << 10;
/// How many of the workflow's newest rounds are searched for a session.
const SEARCHED: usize = 256;

/// A session of an agent that speaks ACP.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AcpSession {
    /// Its id, in the agent's own words.
    pub session: String,
    /// The agent's name, as the agent says it.
    #[serde(default)]
    pub agent: String,
    /// The agent's version.
    #[serde(default)]
    pub version: String,
    /// Its working folder, from its beginning on.
    pub cwd: PathBuf,
    /// When the session was begun.
    pub begun_at: Time,
}

/// Puts the session of an attempt on record, durably.
pub fn note(mailbox: &Mailbox, run: &Run, session: &AcpSession) -> Result<()> {
    disk::replace(&run.folder(mailbox).join(FILE), &document::to_json(session)?)
}

/// The session of an attempt; `None` if the agent was told nothing in it.
#[must_use]
pub fn of_attempt(mailbox: &Mailbox, round: &RoundId, attempt: u32) -> Option<AcpSession> {
    let bytes = disk::read(&record::folder(mailbox, round, attempt).join(FILE), LARGEST).ok()?;
    document::json(&bytes)
}

/// The session that the workflow's runs know by this id of ours.
#[must_use]
pub fn find(mailbox: &Mailbox, workflow: &WorkflowId, session: SessionId) -> Option<AcpSession> {
    let mut rounds: Vec<_> = list::rounds_of(mailbox, workflow).collect();
    rounds.sort_unstable_by_key(|round| std::cmp::Reverse(round.question));
    for round in rounds.into_iter().take(SEARCHED) {
        for attempt in record::attempts(mailbox, &round).ok()?.into_iter().rev() {
            let is_it = |run: Run| run.plan.session_id == session;
            if record::read(mailbox, &round, attempt).is_ok_and(is_it)
                && let found @ Some(_) = of_attempt(mailbox, &round, attempt)
            {
                return found;
            }
        }
    }
    None
}

/// True if the events of an attempt show that the agent has worked on its message.
#[must_use]
pub fn was_heard(mailbox: &Mailbox, round: &RoundId, attempt: u32) -> bool {
    let path = record::folder(mailbox, round, attempt).join("events.jsonl");
    let Ok(file) = disk::open_to_read(&path) else { return false };
    BufReader::new(file).split(b'\n').map_while(std::io::Result::ok).any(|line| {
        document::json::<Event>(&line).is_some_and(|event| {
            matches!(
                event.kind,
                EventKind::Text { .. }
                    | EventKind::Thinking { .. }
                    | EventKind::Generating { .. }
                    | EventKind::ToolCall { .. }
                    | EventKind::ToolResult { .. }
                    | EventKind::Permission { .. }
                    | EventKind::Result { .. }
            )
        })
    })
}
