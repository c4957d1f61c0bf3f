//! Completes what another process left half done: the first step of every transition of a workflow.
//!
//! The pending question decides what is to be done:
//! - it has the field `closed`: it is moved to `closed/`;
//! - its round was claimed or closed already: if it is the question that was answered there, a power cut brought its name back,
//!   and it is removed. Otherwise it goes to quarantine;
//! - `answered/` holds its answer: it is retired (see [`super::retire`]).
//!
//! In any other case nothing is changed.

use std::path::Path;

use crate::error::Result;
use crate::id::RoundId;
use crate::mailbox::documents::question::{Question, QuestionDocument};
use crate::mailbox::layout::{Folder, Mailbox, WorkflowLock};
use crate::mailbox::quarantine::quarantine;
use crate::mailbox::transitions::{close, retire};
use crate::mailbox::{read_question, round};
use crate::{disk, time};

/// Completes what is half done. Cheap if there is nothing to do. Returns the pending question if there is one that stays.
pub fn settle(mailbox: &Mailbox, lock: &WorkflowLock) -> Result<Option<QuestionDocument>> {
    let workflow = lock.workflow();
    // A file that cannot be read is judged by the intake, after its grace time.
    let Ok(pending) = read_question::pending(mailbox, workflow) else { return Ok(None) };
    let path = mailbox.document(Folder::Pending, workflow);
    if pending.typed.closed.is_some() {
        let round = round::round_of(mailbox, &pending.typed)?;
        return close::move_to_closed(mailbox, Folder::Pending, &round).map(|()| None);
    }
    if let Some(round) = pending.typed.round()
        && round::is_claimed_or_closed(mailbox, &round)
    {
        if came_back(mailbox, &round, &path, &pending.typed) {
            return disk::untouch(&path).map(|()| None);
        }
        let reason = format!("its question_id {} names a round that was claimed or closed before", round.question);
        quarantine(mailbox, &path, workflow.file_name(), &reason)?;
        return Ok(None);
    }
    let answered = mailbox.document(Folder::Answered, workflow);
    // A copy without an answer (`cp pending/x answered/x`) answers nothing.
    if let Ok(document) = read_question::document(&answered)
        && let Some(answer) = &document.typed.answer
    {
        let round = round::round_of(mailbox, &pending.typed)?;
        let at = Some(round::answered_at(&answered, answer));
        if round::round_of(mailbox, &document.typed)? == round && !round::is_asked_again(&path, &pending.typed, at) {
            retire::retire_pending(mailbox, &round, at)?;
            return Ok(None);
        }
    }
    Ok(Some(pending))
}

/// [`settle`], and the pending question after it.
///
/// # Errors
/// `is_missing_file()` if no question is pending, and those of [`read_question::pending`].
pub fn settled_pending(mailbox: &Mailbox, lock: &WorkflowLock) -> Result<QuestionDocument> {
    settle(mailbox, lock)?.map_or_else(|| read_question::pending(mailbox, lock.workflow()), Ok)
}

/// Whether a pending question is the one that was answered in a claimed or closed round. The removal from `pending/` is not
/// synced, so a power cut can bring the file back. A file that is younger than the answer was written by another program.
fn came_back(mailbox: &Mailbox, round: &RoundId, path: &Path, pending: &Question) -> bool {
    let Some(answer) = round::claimed_or_closed(mailbox, round).next().and_then(|document| document.typed.answer) else { return false };
    let same = answer.question_hash.is_some() && answer.question_hash == pending.hash().ok();
    let older = answer.at.is_some_and(|at| time::to_the_millisecond(read_question::modified(path).into()) <= at);
    same && older && pending.answer.is_none() && pending.late_answers.is_empty()
}
