//! The session to continue, and what it may lack.
//!
//! Some agents write a session's history a moment after they have asked. An agent that was killed in that moment continues the session
//! without its last words. So the record of a session also says if the agent has ended by itself.

use askbox_agent::{EventKind, events};
use askbox_mailbox::{AttemptId, Mailbox, Result, RoundId, disk, document};
use askbox_run::attempt::acp_session::{AcpSession, FILE, attempts, of_attempt};
use askbox_run::{Run, record};

/// The most attempts in a row whose work may be missing in a session.
const MOST_UNSURE: usize = 16;

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
        let says = matches!(event.kind, EventKind::Text { .. } | EventKind::Thinking { .. } | EventKind::Generating { .. });
        let calls = matches!(event.kind, EventKind::ToolCall { .. } | EventKind::ToolResult { .. } | EventKind::Permission { .. });
        if says || calls || matches!(event.kind, EventKind::Result { .. }) {
            heard = Some(results + 1);
        }
        // Each turn has one.
        results += u32::from(matches!(event.kind, EventKind::Result { .. }));
    }
    heard
}
