//! Retiring removes the pending copy of an answered question, but never a newer question.
//!
//! A program that takes no lock may replace `pending/W.json` by its next question at any time. Therefore:
//! 1. Rename `pending/W.json` to the hidden name `pending/.tmpretired.W.Q`.
//! 2. Read it.
//! 3. Remove it if it is the answered question. Otherwise move it back, or to quarantine if `pending/W.json` exists again.
//!
//! After a crash between the steps, [`roll_forward`] does steps 2 and 3.

use std::path::Path;

use crate::disk::{self, Placed};
use crate::document;
use crate::documents::question::{MAX_PENDING, Question, QuestionDocument};
use crate::error::Result;
use crate::id::{QuestionId, RoundId};
use crate::layout::{Folder, Mailbox};
use crate::quarantine::quarantine;
use crate::time::Time;
use crate::{read_question, round};

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
