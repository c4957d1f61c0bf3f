//! Completes what another process left half done. This is the first step of every transition of a workflow.
//!
//! The pending question decides what happens:
//! - If it has the field `closed`, it is moved to `closed/`.
//! - If its round was already claimed or closed, there are two cases. If the same question was answered there, a power cut brought
//!   its name back, and it is removed. Otherwise it goes to quarantine.
//! - If `answered/` holds its answer, it is retired (see [`super::retire`]). A copy of a signed answer that was taken back goes to
//!   quarantine instead.
//! - Otherwise the question waits. If a checkpoint holds an answer to it, a program died before it accepted that answer: the answer is
//!   removed there.

use std::path::Path;

use crate::audit::{self, Entry};
use crate::checkpoints::{store, user_answer};
use crate::disk;
use crate::documents::checkpoint::CheckpointDocument;
use crate::documents::question::{MAX_TAKEN_BACK, Question, QuestionDocument};
use crate::error::Result;
use crate::id::{RoundId, WorkflowId};
use crate::layout::{Folder, Mailbox, WorkflowLock};
use crate::quarantine::quarantine;
use crate::time;
use crate::transitions::{close, replayed, retire};
use crate::trust::withdrawn;
use crate::{read_question, round};

/// Completes what is half done. Cheap if nothing is. Returns the pending question if there is a valid one and it stays. The caller
/// holds the workflow's lock.
///
/// # Errors
/// [`Error::Failed`](crate::error::Error::Failed) if the quarantine has no name left. [`Error::Io`](crate::error::Error::Io) if the
/// system refuses.
pub fn settle(mailbox: &Mailbox, lock: &WorkflowLock) -> Result<Option<QuestionDocument>> {
    let workflow = lock.workflow();
    // The intake handles a file that cannot be read, after its grace time.
    let Ok(pending) = read_question::pending(mailbox, workflow) else { return Ok(None) };
    let path = mailbox.document(Folder::Pending, workflow);
    if pending.typed.closed.is_some() {
        let round = round::round_of(mailbox, &pending.typed)?;
        return close::move_to_closed(mailbox, Folder::Pending, &round).map(|()| None);
    }
    if let Some(round) = pending.typed.round() {
        replayed::set_aside(mailbox, &round, &pending.typed)?;
        if round::is_claimed_or_closed(mailbox, &round) {
            if came_back(mailbox, &round, &path, &pending.typed) {
                return disk::untouch(&path).map(|()| None);
            }
            let reason = format!("its question_id {} names a round that was claimed or closed before", round.question);
            quarantine(mailbox, &path, workflow.file_name(), &reason)?;
            return Ok(None);
        }
    }
    let answered = mailbox.document(Folder::Answered, workflow);
    if let Some(mut document) = round::answer_to(mailbox, &pending.typed)?
        && let Some(answer) = &document.typed.answer
    {
        let (round, at) = (round::round_of(mailbox, &pending.typed)?, Some(round::answered_at(&answered, answer)));
        if !withdrawn::holds(&pending.typed, &document.typed, answer) {
            // If this answer is refused, the question waits again, from this file.
            if withdrawn::carry_over(&pending.typed, &mut document.typed) {
                document.update()?;
                disk::replace(&answered, &document.to_file_within(MAX_TAKEN_BACK)?)?;
            }
            retire::retire_pending(mailbox, &round, at)?;
            return Ok(None);
        }
        let entry = Entry::about_round("refused", &round).answer(document.typed.hash().ok(), answer).by(&answer.by);
        quarantine(mailbox, &answered, workflow.file_name(), withdrawn::WHY)?;
        audit::record(mailbox, entry.why(withdrawn::WHY));
    }
    user_answer::clear_unaccepted(mailbox, &pending.typed)?;
    Ok(Some(pending))
}

/// Reads a workflow's own checkpoint. A question that still waits has no answer yet: neither one that nobody accepted, nor that of an earlier
/// question, which a script would take for its own. The file keeps it.
///
/// # Errors
/// Those of [`store::load`] and of [`settle`].
pub fn settled_checkpoint(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<CheckpointDocument> {
    let mut document = store::load(mailbox, workflow)?;
    let Some(answered) = document.typed.user_answer_to else { return Ok(document) };
    let pending = read_question::pending(mailbox, workflow).and_then(|pending| round::of_pending(mailbox, &pending.typed));
    if let Ok(round) = pending {
        // The program that answers now holds the lock, and has finished once this gets it.
        if round.question == answered
            && let Ok(lock) = mailbox.lock(workflow)
        {
            settle(mailbox, &lock)?;
            return store::load(mailbox, workflow);
        }
        (document.typed.user_answer, document.typed.user_answer_to) = (None, None);
        document.update()?;
    }
    Ok(document)
}

/// [`settle`], and then reads the pending question.
///
/// # Errors
/// Those of [`settle`] and of [`read_question::pending`]. If no question is pending, `is_missing_file()` of the error is true.
pub fn settled_pending(mailbox: &Mailbox, lock: &WorkflowLock) -> Result<QuestionDocument> {
    settle(mailbox, lock)?.map_or_else(|| read_question::pending(mailbox, lock.workflow()), Ok)
}

/// Reads the question that waits in `pending/`. If it is over, and the program that ended it died, completes that first: nobody may be
/// shown it as one that waits. A mailbox that cannot be written is read as it is.
///
/// # Errors
/// Those of [`read_question::pending`]. If no question is pending, `is_missing_file()` of the error is true.
pub fn waiting(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<QuestionDocument> {
    let document = read_question::pending(mailbox, workflow)?;
    if !round::is_over(mailbox, &document.typed) {
        return Ok(document);
    }
    match mailbox.lock(workflow).and_then(|lock| settled_pending(mailbox, &lock)) {
        Err(e) if !e.is_missing_file() => Ok(document),
        settled => settled,
    }
}

/// True if a pending question is the one that was answered in a claimed or closed round. The removal from `pending/` is not synced,
/// so a power cut can bring the file back. If the file is younger than the answer, another program wrote it.
fn came_back(mailbox: &Mailbox, round: &RoundId, path: &Path, pending: &Question) -> bool {
    let Some(answer) = round::claimed_or_closed(mailbox, round).next().and_then(|document| document.typed.answer) else { return false };
    let same = answer.question_hash.is_some() && answer.question_hash == pending.hash().ok();
    let older = answer.at.is_some_and(|at| time::to_the_millisecond(read_question::modified(path).into()) <= at);
    same && older && pending.answer.is_none() && pending.late_answers.is_empty()
}
