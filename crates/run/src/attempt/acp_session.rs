//! The session that an attempt opened with an agent that speaks ACP: `acp.json` in the folder of the attempt. `askbox-acp` writes it.
//!
//! Such an agent chooses the id of its session itself. The file names it, and is durable before the agent gets its first message. So an
//! attempt without the file has told its agent nothing, and an attempt with the file may have.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::attempt::record;
use askbox_mailbox::{AttemptId, Mailbox, RoundId, SessionId, Time, WorkflowId, disk, document, list};

/// The name of the file.
pub const FILE: &str = "acp.json";
/// The largest file, in bytes.
const LARGEST: u64 = 64 << 10;

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
    /// True once the agent of this attempt has ended by itself. Until then, it may not have written the session's history.
    #[serde(default)]
    pub is_written: bool,
}

/// The session of an attempt; `None` if the agent was told nothing in it.
pub fn of_attempt(mailbox: &Mailbox, round: &RoundId, attempt: u32) -> Option<AcpSession> {
    let bytes = disk::read(&record::folder(mailbox, round, attempt).join(FILE), LARGEST).ok()?;
    document::json(&bytes)
}

/// The session that the workflow's runs know by this id of ours.
pub fn find(mailbox: &Mailbox, workflow: &WorkflowId, session: SessionId) -> Option<AcpSession> {
    let is_it = |attempt: &AttemptId| record::read(mailbox, &attempt.round, attempt.attempt).is_ok_and(|run| run.session_id == session);
    attempts(mailbox, workflow).filter(is_it).find_map(|attempt| of_attempt(mailbox, &attempt.round, attempt.attempt))
}

/// The workflow's attempts, the newest first.
pub fn attempts(mailbox: &Mailbox, workflow: &WorkflowId) -> impl Iterator<Item = AttemptId> {
    let rounds = list::newest_rounds_of(mailbox, workflow);
    rounds.into_iter().take(list::SEARCHED).flat_map(move |round| {
        let attempts = record::attempts(mailbox, &round).unwrap_or_default();
        attempts.into_iter().rev().map(move |attempt| AttemptId { round: round.clone(), attempt })
    })
}
