//! Checks whether a process or a question belongs to the run that it names. The run's record decides: see
//! [`crate::documents::fields::asked_in`].

use serde::Deserialize;

use crate::disk;
use crate::document;
use crate::documents::fields::asked_in::{AskedIn, NonceHash};
use crate::documents::question::Question;
use crate::error::Result;
use crate::id::{QuestionId, SessionId, WorkflowId};
use crate::layout::{MAX_RUN, Mailbox};

/// The fields of a run's record that prove the session and the nonce.
#[derive(Deserialize)]
struct Record {
    workflow_id: WorkflowId,
    question_id: QuestionId,
    attempt: u32,
    session_id: SessionId,
    nonce_hash: Option<NonceHash>,
}

/// Returns the session of a run. `None` if the run does not exist, or if the proof is not one of that run.
///
/// # Errors
/// [`Error::Io`](crate::error::Error::Io) or [`Error::Invalid`](crate::error::Error::Invalid) if the record exists and cannot be
/// read now.
pub fn session(mailbox: &Mailbox, AskedIn { run, proof }: &AskedIn) -> Result<Option<SessionId>> {
    let Some(bytes) = disk::if_there(disk::read(&mailbox.attempt(run).join("run.json"), MAX_RUN))? else { return Ok(None) };
    let is_it = |r: &Record| {
        (&r.workflow_id, r.question_id, r.attempt) == (&run.round.workflow, run.round.question, run.attempt)
            && r.nonce_hash == Some(proof.hash())
    };
    Ok(document::json::<Record>(&bytes).filter(is_it).map(|r| r.session_id))
}

/// True if a question was asked in a run of the workflow that it names as its parent, and by the session that it names.
///
/// # Errors
/// [`Error::Io`](crate::error::Error::Io) or [`Error::Invalid`](crate::error::Error::Invalid) if the record of that run exists and
/// cannot be read now.
pub fn is_proven(mailbox: &Mailbox, question: &Question) -> Result<bool> {
    let asked_in = question.asked_in.as_ref().filter(|asked| question.parent.as_ref() == Some(&asked.run.round.workflow));
    let session = asked_in.map(|asked| session(mailbox, asked)).transpose()?.flatten();
    Ok(session.is_some() && session == question.session_id)
}
