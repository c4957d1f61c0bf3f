//! Completes what another process left half done. This is the first step of every transition of a workflow.
//!
//! The pending question decides what happens:
//! - If it has the field `closed`, it is moved to `closed/`.
//! - If its round was already claimed or closed, there are two cases. If the same question was answered there, a power cut brought
//!   its name back, and it is removed. Otherwise it goes to quarantine.
//! - If `answered/` holds its answer, it is retired (see below). A copy of a signed answer that was taken back goes to
//!   quarantine instead.
//! - Otherwise the question waits. If a checkpoint holds an answer to it, a program died before it accepted that answer: the answer is
//!   removed there.
//!
//! Retiring removes the pending copy of an answered question, but never a newer question.
//!
//! A program that takes no lock may replace `pending/W.json` by its next question at any time. Therefore:
//! 1. Rename `pending/W.json` to the hidden name `pending/.tmpretired.W.Q`.
//! 2. Read it.
//! 3. Remove it if it is the answered question. Otherwise move it back, or to quarantine if `pending/W.json` exists again.
//!
//! After a crash between the steps, [`roll_forward`] does steps 2 and 3.

use std::path::Path;

use crate::audit::{self, Entry};
use crate::checkpoints::{store, user_answer};
use crate::documents::checkpoint::CheckpointDocument;
use crate::documents::question::{MAX_PENDING, MAX_TAKEN_BACK};
use crate::quarantine::quarantine;
use crate::transitions::{close, replayed};
use crate::trust::withdrawn;
use crate::{
    Folder, Mailbox, Placed, Question, QuestionDocument, QuestionId, Result, RoundId, Time, WorkflowId, WorkflowLock, disk, document,
    read_question, round, time,
};

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
            retire_pending(mailbox, &round, at)?;
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

/// The prefix of the hidden name. The round follows it.
const RETIRED: &str = ".tmpretired.";

/// Returns the round in a hidden name in `pending/` of a retired question. `None` for any other name.
pub fn retired_round(name: &str) -> Option<RoundId> {
    name.strip_prefix(RETIRED).and_then(|rest| RoundId::from_file_name(&format!("{rest}.json")))
}

/// Removes the pending copy of a round. `answered` is the time of its answer. The caller holds the workflow's lock.
///
/// # Errors
/// [`Error::Failed`](crate::error::Error::Failed) if the quarantine has no name left for a newer question.
/// [`Error::Io`](crate::error::Error::Io) if the system refuses.
pub fn retire_pending(mailbox: &Mailbox, round: &RoundId, answered: Option<Time>) -> Result<()> {
    let path = mailbox.document(Folder::Pending, &round.workflow);
    let aside = mailbox.folder(Folder::Pending).join(format!("{RETIRED}{round}"));
    judge_retired(mailbox, round, &aside, answered)?;
    // This rename replaces. Some filesystems have no rename that refuses to replace, and need a link and an unlink instead. That
    // unlink would remove a question that came after the link.
    if !disk::replace_by_rename(&path, &aside)? {
        return Ok(());
    }
    judge_retired(mailbox, round, &aside, answered)
}

/// Completes a [`retire_pending`] that a crash interrupted. `name` is a hidden name in `pending/`; any other name is ignored.
///
/// # Errors
/// Those of [`retire_pending`]. [`Error::Held`](crate::error::Error::Held) if another process keeps the lock.
pub fn roll_forward(mailbox: &Mailbox, name: &str) -> Result<()> {
    let Some(round) = retired_round(name) else { return Ok(()) };
    let _lock = mailbox.lock(&round.workflow)?;
    let in_answered = read_question::document(&mailbox.document(Folder::Answered, &round.workflow)).ok();
    let answered = in_answered
        .into_iter()
        .chain(round::claimed_or_closed(mailbox, &round))
        .filter(|document| document.typed.question_id == Some(round.question))
        .find_map(|document| document.typed.answer.and_then(|a| a.at));
    judge_retired(mailbox, &round, &mailbox.folder(Folder::Pending).join(name), answered)
}

/// Steps 2 and 3.
fn judge_retired(mailbox: &Mailbox, round: &RoundId, aside: &Path, answered: Option<Time>) -> Result<()> {
    /// The `question_id`. If it is present, no other field is needed.
    #[derive(serde::Deserialize)]
    struct Asked {
        question_id: Option<QuestionId>,
    }
    let bytes = match disk::read(aside, MAX_PENDING) {
        Err(e) if e.is_missing_file() => return Ok(()),
        other => other,
    };
    let is_own = |bytes: &Vec<u8>| document::json::<Asked>(bytes).is_some_and(|asked| asked.question_id == Some(round.question));
    if bytes.as_ref().is_ok_and(is_own) {
        return disk::untouch(aside);
    }
    let newer = match bytes.and_then(|bytes| QuestionDocument::parse(&bytes)) {
        Ok(document) => {
            let question = &document.typed;
            let own = question.question_id.map_or_else(|| has_derived_id(mailbox, question, round), |id| Ok(id == round.question))?;
            !own || round::is_asked_again(aside, question, answered)
        }
        // Another program is writing the file at this moment, so it is not the file that was answered.
        Err(_) => true,
    };
    if !newer {
        return disk::remove(aside);
    }
    if disk::rename(aside, &mailbox.document(Folder::Pending, &round.workflow))? == Placed::NameExists {
        let reason = "it was asked while an answer was being given, and another question came after it";
        quarantine(mailbox, aside, round.workflow.file_name(), reason)?;
    }
    Ok(())
}

/// True if the round's id was derived from the content of this question, which has no `question_id`.
fn has_derived_id(mailbox: &Mailbox, question: &Question, round: &RoundId) -> Result<bool> {
    for n in 0..round::MAX_REPEATS {
        let derived = RoundId { workflow: round.workflow.clone(), question: question.derived_id(n)? };
        if derived == *round || !round::is_claimed_or_closed(mailbox, &derived) {
            return Ok(derived == *round);
        }
    }
    Ok(false)
}
