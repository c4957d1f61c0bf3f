//! Retiring: the pending copy of an answered question is removed, but nothing newer is.
//!
//! A program that takes no lock may replace `pending/W.json` by its next question at any time. Therefore:
//! 1. rename `pending/W.json` to the hidden name `pending/.tmpretired.W.Q`;
//! 2. read it;
//! 3. remove it if it is the answered question. Otherwise move it back, or to quarantine if `pending/W.json` exists again.
//!
//! After a crash between the steps, [`roll_forward`] does steps 2 and 3.

use std::path::Path;

use crate::disk::{self, Placed};
use crate::document;
use crate::error::Result;
use crate::id::{QuestionId, RoundId};
use crate::mailbox::documents::question::{MAX_PENDING, Question, QuestionDocument};
use crate::mailbox::layout::{Folder, Mailbox};
use crate::mailbox::quarantine::quarantine;
use crate::mailbox::{read_question, round};
use crate::time::Time;

/// The prefix of the hidden name; the round follows.
const RETIRED: &str = ".tmpretired.";

/// The round whose retired question has this hidden name in `pending/`.
#[must_use]
pub fn retired_round(name: &str) -> Option<RoundId> {
    name.strip_prefix(RETIRED).and_then(|rest| RoundId::from_file_name(&format!("{rest}.json")))
}

/// Removes the pending copy of a round that was answered at `answered`. The caller holds the workflow's lock.
pub fn retire_pending(mailbox: &Mailbox, round: &RoundId, answered: Option<Time>) -> Result<()> {
    let path = mailbox.document(Folder::Pending, &round.workflow);
    let aside = mailbox.folder(Folder::Pending).join(format!("{RETIRED}{round}"));
    judge_retired(mailbox, round, &aside, answered)?;
    // Some filesystems have no rename that refuses to replace, and need a link and an unlink instead. That unlink would remove a
    // question that came after the link.
    if !disk::replace_by_rename(&path, &aside)? {
        return Ok(());
    }
    judge_retired(mailbox, round, &aside, answered)
}

/// Completes what a crash in the middle of [`retire_pending`] left; `name` is a hidden name in `pending/`.
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
    /// The only field that is needed where it is present.
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
        // Another program is writing it at this moment, so it is not the file that was answered.
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

/// Whether the round's id is one that was derived from the content of a question without `question_id`.
fn has_derived_id(mailbox: &Mailbox, question: &Question, round: &RoundId) -> Result<bool> {
    for n in 0..round::MAX_REPEATS {
        let derived = RoundId { workflow: round.workflow.clone(), question: question.derived_id(n)? };
        if derived == *round || !round::is_claimed_or_closed(mailbox, &derived) {
            return Ok(derived == *round);
        }
    }
    Ok(false)
}
