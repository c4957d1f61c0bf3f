//! The session that an attempt opened with an agent that speaks ACP: `acp.json` in the folder of the attempt.
//!
//! Such an agent chooses the id of its session itself. The file names it, and is durable before the agent gets its first message. So an
//! attempt without the file has told its agent nothing, and an attempt with the file may have.
//!
//! Some agents write a session's history a moment after they have asked. An agent that was killed in that moment continues the session
//! without its last words. So the file also says if the agent has ended by itself.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::attempt::record::{self, Run};
use askbox_agent::events::{self, EventKind};
use askbox_mailbox::listing::list;
use askbox_mailbox::{AttemptId, Mailbox, Result, RoundId, SessionId, Time, WorkflowId, disk, document};

/// The name of the file.
pub const FILE: &str = "acp.json";
/// The largest file, in bytes.
const LARGEST: u64 = 64 << 10;
/// The most attempts in a row whose work may be missing in a session.
const MOST_UNSURE: usize = 16;

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

/// An attempt whose agent did not end by itself. The session may lack its words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsure {
    /// The attempt.
    pub id: AttemptId,
    /// The number of the last message that the agent worked on, from 1. `None` if the events show no work.
    pub heard: Option<u32>,
}

/// Puts the session of an attempt on record, durably.
pub fn note(mailbox: &Mailbox, run: &Run, session: &AcpSession) -> Result<()> {
    disk::replace(&run.folder(mailbox).join(FILE), &document::to_json(session)?)
}

/// Notes that the agent of an attempt has ended by itself. If a power cut takes the note away, the session's history is read once more.
pub fn note_end(mailbox: &Mailbox, run: &Run) -> Result<()> {
    let Some(session) = of_attempt(mailbox, &run.round(), run.attempt) else { return Ok(()) };
    let session = AcpSession { is_written: true, ..session };
    disk::replace_ahead(&run.folder(mailbox).join(FILE), &document::to_json(&session)?)
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
fn attempts(mailbox: &Mailbox, workflow: &WorkflowId) -> impl Iterator<Item = AttemptId> {
    let rounds = list::newest_rounds_of(mailbox, workflow);
    rounds.into_iter().take(list::SEARCHED).flat_map(move |round| {
        let attempts = record::attempts(mailbox, &round).unwrap_or_default();
        attempts.into_iter().rev().map(move |attempt| AttemptId { round: round.clone(), attempt })
    })
}

/// The attempts before `run` whose work the session may lack, the newest first. An attempt whose agent ended by itself has written the
/// history, with all that was in front of it.
pub fn unsure(mailbox: &Mailbox, run: &Run, session: &str) -> Vec<Unsure> {
    let own = run.round();
    let earlier = (1..run.attempt).rev().map(|attempt| AttemptId { round: own.clone(), attempt });
    let in_other_rounds = attempts(mailbox, &run.workflow_id).filter(|attempt| attempt.round != own);
    let in_session =
        |id: AttemptId| of_attempt(mailbox, &id.round, id.attempt).filter(|known| known.session == session).map(|known| (id, known));
    let cut = earlier.chain(in_other_rounds).filter_map(in_session).take_while(|(_, known)| !known.is_written).take(MOST_UNSURE);
    cut.map(|(id, _)| Unsure { heard: last_heard(mailbox, &id.round, id.attempt), id }).collect()
}

/// The number of the last message that the agent of an attempt has worked on, as the events show it. `None` if they show no work.
pub fn last_heard(mailbox: &Mailbox, round: &RoundId, attempt: u32) -> Option<u32> {
    let path = record::folder(mailbox, round, attempt).join("events.jsonl");
    let (mut results, mut heard) = (0, None);
    for event in events::read(&path).ok()? {
        let is_work = matches!(
            event.kind,
            EventKind::Text { .. }
                | EventKind::Thinking { .. }
                | EventKind::Generating { .. }
                | EventKind::ToolCall { .. }
                | EventKind::ToolResult { .. }
                | EventKind::Permission { .. }
                | EventKind::Result { .. }
        );
        if is_work {
            heard = Some(results + 1);
        }
        // Each turn has one.
        results += u32::from(matches!(event.kind, EventKind::Result { .. }));
    }
    heard
}
