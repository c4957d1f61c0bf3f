//! Rounds: which round a question belongs to, and where the rounds of a workflow lie.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::disk;
use crate::error::{Error, Result};
use crate::id::{RoundId, WorkflowId};
use crate::mailbox::documents::answer::Answer;
use crate::mailbox::documents::question::{Question, QuestionDocument};
use crate::mailbox::layout::{Folder, Mailbox};
use crate::mailbox::listing::list;
use crate::mailbox::read_question;
use crate::time::{self, Time};

/// How often one workflow may ask the same question without a `question_id`.
pub(super) const MAX_REPEATS: u32 = 100_000;

/// The folders of the rounds that have been claimed or closed.
pub(super) const CLAIMED_OR_CLOSED: [Folder; 3] = [Folder::Running, Folder::Parked, Folder::Closed];

/// A round and the folder it lies in.
#[derive(Debug)]
pub struct Round {
    /// The folder, which is the round's state.
    pub folder: Folder,
    /// The round's id.
    pub id: RoundId,
    /// The round's document.
    pub document: QuestionDocument,
}

impl Round {
    /// The document's file.
    #[must_use]
    pub fn path(&self, mailbox: &Mailbox) -> PathBuf {
        path(mailbox, self.folder, &self.id)
    }
}

/// The file of a round that lies in `folder`, one of the five that are states.
pub(super) fn path(mailbox: &Mailbox, folder: Folder, round: &RoundId) -> PathBuf {
    match folder {
        Folder::Pending | Folder::Answered => mailbox.document(folder, &round.workflow),
        _ => mailbox.round(folder, round),
    }
}

/// The round of a question: its `question_id`, or an id derived from its content. If the same content was asked in earlier
/// rounds that were claimed or closed, the derived id is the next unused one.
pub fn round_of(mailbox: &Mailbox, question: &Question) -> Result<RoundId> {
    question.round().map_or_else(|| derive(mailbox, question, None), Ok)
}

/// The round of the question in `pending/`. Like [`round_of`], but a question that was asked again after it was answered does not
/// get the id of the round that still lies in `answered/`.
pub fn of_pending(mailbox: &Mailbox, question: &Question) -> Result<RoundId> {
    let round = round_of(mailbox, question)?;
    let answered = mailbox.document(Folder::Answered, &round.workflow);
    if question.question_id.is_some() {
        return Ok(round);
    }
    let Ok(document) = read_question::document(&answered) else { return Ok(round) };
    let Some(answer) = &document.typed.answer else { return Ok(round) };
    let asked_again = is_asked_again(&mailbox.document(Folder::Pending, &round.workflow), question, Some(answered_at(&answered, answer)));
    if asked_again && round_of(mailbox, &document.typed)? == round {
        return derive(mailbox, question, Some(&round));
    }
    Ok(round)
}

/// The first derived round that is neither claimed nor closed, nor `except`.
fn derive(mailbox: &Mailbox, question: &Question, except: Option<&RoundId>) -> Result<RoundId> {
    for n in 0..MAX_REPEATS {
        let round = RoundId { workflow: question.workflow_id.clone(), question: question.derived_id(n)? };
        if Some(&round) != except && !is_claimed_or_closed(mailbox, &round) {
            return Ok(round);
        }
    }
    Err(Error::failed("all derived question ids of this question are in use", "post with ask-post, which gives every round an id"))
}

/// When a document in `answered/` was answered: the time that it says, else its file's modification time.
pub(super) fn answered_at(path: &Path, answer: &Answer) -> Time {
    answer.at.unwrap_or_else(|| time::to_the_millisecond(read_question::modified(path).into()))
}

/// Whether a question without `question_id` was written after the time `answered`. Then it is the next round, even if its
/// content is the same.
pub(super) fn is_asked_again(path: &Path, question: &Question, answered: Option<Time>) -> bool {
    let written = read_question::modified(path);
    question.question_id.is_none()
        && written <= SystemTime::now()
        && answered.is_some_and(|at| time::to_the_millisecond(written.into()) > at)
}

/// Whether a round lies in `running/`, `parked/` or `closed/`.
#[must_use]
pub fn is_claimed_or_closed(mailbox: &Mailbox, round: &RoundId) -> bool {
    CLAIMED_OR_CLOSED.iter().any(|f| disk::exists(mailbox.round(*f, round)))
}

/// Whether the workflow has a round that is not closed: it works, asks, or was parked or stopped.
#[must_use]
pub fn is_open(mailbox: &Mailbox, workflow: &WorkflowId) -> bool {
    [Folder::Pending, Folder::Answered].iter().any(|f| disk::exists(mailbox.document(*f, workflow)))
        || [Folder::Running, Folder::Parked].iter().any(|f| list::round_names(mailbox, *f).any(|r| r.workflow == *workflow))
}

/// The documents of a round in `running/`, `parked/` and `closed/` that can be read. There is more than one only after a power
/// cut in the middle of a move.
pub(crate) fn claimed_or_closed(mailbox: &Mailbox, round: &RoundId) -> impl Iterator<Item = QuestionDocument> {
    CLAIMED_OR_CLOSED.into_iter().filter_map(|f| read_question::document(&mailbox.round(f, round)).ok())
}

/// All readable rounds of a workflow: closed ones by the time of their end, then those in `parked/`, `running/`, `answered/`
/// and `pending/`. The cost grows with the rounds of this workflow, not with those of the mailbox.
#[must_use]
pub fn of_workflow(mailbox: &Mailbox, workflow: &WorkflowId) -> Vec<Round> {
    let mut found: Vec<Round> = Vec::new();
    // The folders are read in the order in which a round moves through them: a round that moves meanwhile is found at least
    // once, and its last place counts.
    let mut add = |folder, id: RoundId, document| {
        found.retain(|f| f.id != id);
        found.push(Round { folder, id, document });
    };
    for folder in [Folder::Pending, Folder::Answered] {
        let read = match folder {
            Folder::Answered => read_question::answered(mailbox, workflow),
            _ => read_question::document(&mailbox.document(folder, workflow)),
        };
        if let Ok(document) = read
            && let Ok(round) =
                if folder == Folder::Pending { of_pending(mailbox, &document.typed) } else { round_of(mailbox, &document.typed) }
        {
            add(folder, round, document);
        }
    }
    let mut add_from = |folder, rounds: &mut dyn Iterator<Item = RoundId>| {
        for round in rounds.filter(|r| r.workflow == *workflow) {
            if let Ok(document) = read_question::document(&mailbox.round(folder, &round)) {
                add(folder, round, document);
            }
        }
    };
    for folder in [Folder::Running, Folder::Parked] {
        add_from(folder, &mut list::round_names(mailbox, folder));
    }
    // `closed/` may hold a million names, so the names of this workflow's rounds come from `runs/`.
    add_from(Folder::Closed, &mut list::rounds_of(mailbox, workflow));
    let place =
        |folder| [Folder::Closed, Folder::Parked, Folder::Running, Folder::Answered, Folder::Pending].iter().position(|f| *f == folder);
    found.sort_unstable_by_key(|f| (f.document.typed.closed.as_ref().map_or(Time::MAX_UTC, |c| c.at), place(f.folder), f.id.clone()));
    found
}

/// Why `answered/WORKFLOW.json` cannot be used, if it is there and cannot be: a watcher, or `relaunch ID`, will put it into quarantine.
#[must_use]
pub fn unusable_answer(mailbox: &Mailbox, workflow: &WorkflowId) -> Option<Error> {
    read_question::answered(mailbox, workflow).err().filter(|e| !e.is_missing_file())
}

/// Why a file of an open round of this workflow cannot be used.
#[must_use]
pub fn unusable_file(mailbox: &Mailbox, workflow: &WorkflowId) -> Option<Error> {
    let round = |folder| list::round_names(mailbox, folder).filter(|round| round.workflow == *workflow).map(move |round| (folder, round));
    let claimed = [Folder::Running, Folder::Parked].into_iter().flat_map(round);
    unusable_answer(mailbox, workflow)
        .or_else(|| read_question::document(&mailbox.document(Folder::Pending, workflow)).err())
        .filter(|e| !e.is_missing_file())
        .or_else(|| claimed.filter_map(|(folder, round)| read_question::document(&mailbox.round(folder, &round)).err()).next())
        .filter(|e| !e.is_missing_file())
}

/// The newest round of a workflow.
#[must_use]
pub fn latest(mailbox: &Mailbox, workflow: &WorkflowId) -> Option<Round> {
    of_workflow(mailbox, workflow).pop()
}
