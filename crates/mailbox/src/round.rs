//! Rounds: finds the round that a question belongs to, and the rounds of a workflow.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::{
    Answer, Error, Folder, Mailbox, Question, QuestionDocument, Result, RoundId, Time, WorkflowId, disk, list, read_question,
    recent_rounds, time,
};

/// How often one workflow may ask the same question without a `question_id`.
pub(super) const MAX_REPEATS: u32 = 100_000;

/// The folders of claimed and closed rounds.
pub(super) const CLAIMED_OR_CLOSED: [Folder; 3] = [Folder::Running, Folder::Parked, Folder::Closed];

/// A round with its document, and its state.
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
    /// The path of the document's file.
    pub fn path(&self, mailbox: &Mailbox) -> PathBuf {
        path(mailbox, self.folder, &self.id)
    }

    /// Returns the folder of the round's state. A program that died may have left an ended question in `pending/`. Such a question has the
    /// field `closed`.
    pub fn state(&self) -> Folder {
        if self.folder == Folder::Pending && self.document.typed.closed.is_some() { Folder::Closed } else { self.folder }
    }
}

/// Returns the file of a round in `folder`, one of the five folders that are states.
pub(super) fn path(mailbox: &Mailbox, folder: Folder, round: &RoundId) -> PathBuf {
    match folder {
        Folder::Pending | Folder::Answered => mailbox.document(folder, &round.workflow),
        _ => mailbox.round(folder, round),
    }
}

/// Returns the round of a question: its `question_id`, or an id derived from its content. If earlier rounds with the same content
/// were claimed or closed, the derived id is the next unused one.
///
/// # Errors
/// [`Error::Failed`] if all derived ids of this content are in use. [`Error::Invalid`] if the question cannot be written as JSON.
pub fn round_of(mailbox: &Mailbox, question: &Question) -> Result<RoundId> {
    question.round().map_or_else(|| derive(mailbox, question, None), Ok)
}

/// Returns the round of the question in `pending/`. Like [`round_of`], but the same question asked again after its answer does not
/// get the id of the round that still lies in `answered/`.
///
/// # Errors
/// Those of [`round_of`].
pub fn of_pending(mailbox: &Mailbox, question: &Question) -> Result<RoundId> {
    let round = round_of(mailbox, question)?;
    let answered = mailbox.document(Folder::Answered, &round.workflow);
    if question.question_id.is_some() {
        return Ok(round);
    }
    let Ok(document) = read_question::document(&answered) else { return Ok(round) };
    let Some(answer) = &document.typed.answer else { return Ok(round) };
    let asked_again = is_asked_again(&mailbox.document(Folder::Pending, &round.workflow), question, Some(answered_at(&answered, answer)));
    if asked_again && round_of(mailbox, &document.typed)? == round { derive(mailbox, question, Some(&round)) } else { Ok(round) }
}

/// Returns the first derived round that is not claimed, not closed, and not `except`.
fn derive(mailbox: &Mailbox, question: &Question, except: Option<&RoundId>) -> Result<RoundId> {
    for n in 0..MAX_REPEATS {
        let round = RoundId { workflow: question.workflow_id.clone(), question: question.derived_id(n)? };
        if Some(&round) != except && !is_claimed_or_closed(mailbox, &round) {
            return Ok(round);
        }
    }
    Err(Error::failed("all derived question ids of this question are in use", "give the question a `question_id`"))
}

/// Returns when a document in `answered/` was answered: its `answer.at`, else its file's modification time.
pub(super) fn answered_at(path: &Path, answer: &Answer) -> Time {
    answer.at.unwrap_or_else(|| time::to_the_millisecond(read_question::modified(path).into()))
}

/// True if a question without `question_id` was written after the time `answered`. Then it is the next round, even if its content
/// is the same.
pub(super) fn is_asked_again(path: &Path, question: &Question, answered: Option<Time>) -> bool {
    let written = read_question::modified(path);
    question.question_id.is_none()
        && written <= SystemTime::now()
        && answered.is_some_and(|at| time::to_the_millisecond(written.into()) > at)
}

/// True if the question in `pending/` is over: it has `closed`, its answer lies in `answered/`, or its round was claimed or closed. Its file
/// is there because a program died before it removed the file, or because a power cut brought the file back. A signed answer that was taken
/// back may lie in `answered/` again, and ends nothing.
pub fn is_over(mailbox: &Mailbox, pending: &Question) -> bool {
    let was_taken_back = pending.taken_back.as_ref().is_some_and(|back| !back.withdrawn.is_empty());
    pending.closed.is_some()
        || pending.round().is_some_and(|round| is_claimed_or_closed(mailbox, &round))
        || !was_taken_back && answer_to(mailbox, pending).is_ok_and(|answered| answered.is_some())
}

/// Returns the document in `answered/` if it answers the question that lies in `pending/`.
///
/// # Errors
/// Those of [`round_of`].
pub(super) fn answer_to(mailbox: &Mailbox, pending: &Question) -> Result<Option<QuestionDocument>> {
    let path = mailbox.document(Folder::Answered, &pending.workflow_id);
    let Ok(document) = read_question::document(&path) else { return Ok(None) };
    // A copy without an answer (`cp pending/x answered/x`) answers nothing.
    let Some(answer) = &document.typed.answer else { return Ok(None) };
    let is_its = round_of(mailbox, &document.typed)? == round_of(mailbox, pending)?
        && !is_asked_again(&mailbox.document(Folder::Pending, &pending.workflow_id), pending, Some(answered_at(&path, answer)));
    Ok(is_its.then_some(document))
}

/// True if a round lies in `running/`, `parked/` or `closed/`.
pub fn is_claimed_or_closed(mailbox: &Mailbox, round: &RoundId) -> bool {
    CLAIMED_OR_CLOSED.iter().any(|f| disk::exists(mailbox.round(*f, round)))
}

/// True if the workflow has a round that is not closed: it asks or works, or it was parked or stopped.
pub fn is_open(mailbox: &Mailbox, workflow: &WorkflowId) -> bool {
    [Folder::Pending, Folder::Answered].iter().any(|f| disk::exists(mailbox.document(*f, workflow)))
        || [Folder::Running, Folder::Parked].iter().any(|f| list::round_names(mailbox, *f).any(|r| r.workflow == *workflow))
}

/// Returns the documents of a round in `running/`, `parked/` and `closed/` that can be read. There is more than one only after a
/// power cut in the middle of a move.
pub fn claimed_or_closed(mailbox: &Mailbox, round: &RoundId) -> impl Iterator<Item = QuestionDocument> {
    CLAIMED_OR_CLOSED.into_iter().filter_map(|f| read_question::document(&mailbox.round(f, round)).ok())
}

/// Returns the readable rounds of a workflow that are not closed: those in `parked/`, then `running/`, `answered/` and `pending/`.
/// The last one is the newest. The cost grows with the live rounds of the mailbox, not with the history of this workflow.
pub fn open_of_workflow(mailbox: &Mailbox, workflow: &WorkflowId) -> Vec<Round> {
    let mut found = in_open_folders(mailbox, workflow);
    // A round that moves to `closed/` during the scan, or that a power cut brought back, is closed.
    found.retain(|round| is_not_closed(mailbox, &round.id));
    let order = [Folder::Parked, Folder::Running, Folder::Answered, Folder::Pending];
    found.sort_by_cached_key(|round| (order.iter().position(|folder| *folder == round.folder), round.id.clone()));
    found
}

/// Returns one round, wherever it lies; `None` if it does not exist or cannot be read.
pub fn find(mailbox: &Mailbox, round: &RoundId) -> Option<Round> {
    let open = in_open_folders(mailbox, &round.workflow).into_iter().rfind(|found| found.id == *round);
    in_closed(mailbox, round).or(open)
}

fn is_not_closed(mailbox: &Mailbox, id: &RoundId) -> bool {
    !disk::exists(mailbox.round(Folder::Closed, id)) || in_closed(mailbox, id).is_none()
}

/// The round in `closed/`, if it is there and can be read.
pub fn in_closed(mailbox: &Mailbox, id: &RoundId) -> Option<Round> {
    let document = read_question::document(&mailbox.round(Folder::Closed, id)).ok()?;
    Some(Round { folder: Folder::Closed, id: id.clone(), document })
}

/// The readable rounds of a workflow in the folders of open rounds.
fn in_open_folders(mailbox: &Mailbox, workflow: &WorkflowId) -> Vec<Round> {
    let mut found: Vec<Round> = Vec::new();
    // The folders are read in the order of a round's moves. So a round that moves during the scan is found at least once, and its
    // last place counts.
    let mut add = |folder, id: RoundId, document| {
        found.retain(|f| f.id != id);
        found.push(Round { folder, id, document });
    };
    for folder in [Folder::Pending, Folder::Answered] {
        if let Ok(round) = in_document(mailbox, workflow, folder) {
            add(folder, round.id, round.document);
        }
    }
    for folder in [Folder::Running, Folder::Parked] {
        for round in list::round_names(mailbox, folder).filter(|round| round.workflow == *workflow) {
            if let Ok(document) = read_question::document(&mailbox.round(folder, &round)) {
                add(folder, round, document);
            }
        }
    }
    found
}

/// The workflow's round in `pending/` or in `answered/`.
///
/// # Errors
/// If it is not there, or cannot be read.
pub fn in_document(mailbox: &Mailbox, workflow: &WorkflowId, folder: Folder) -> Result<Round> {
    let document = match folder {
        Folder::Answered => read_question::answered(mailbox, workflow)?,
        _ => read_question::document(&mailbox.document(folder, workflow))?,
    };
    let id = if folder == Folder::Pending { of_pending(mailbox, &document.typed) } else { round_of(mailbox, &document.typed) };
    Ok(Round { folder, id: id?, document })
}

/// Returns the reason why `answered/WORKFLOW.json` cannot be used; `None` if it can, or if it does not exist. A watcher, or
/// `relaunch ID`, will put an unusable file into quarantine.
pub fn unusable_answer(mailbox: &Mailbox, workflow: &WorkflowId) -> Option<Error> {
    read_question::answered(mailbox, workflow).err().filter(|e| !e.is_missing_file())
}

/// Returns the reason why a file of an open round of this workflow cannot be used; `None` if all can.
pub fn unusable_file(mailbox: &Mailbox, workflow: &WorkflowId) -> Option<Error> {
    let round = |folder| list::round_names(mailbox, folder).filter(|round| round.workflow == *workflow).map(move |round| (folder, round));
    let claimed = [Folder::Running, Folder::Parked].into_iter().flat_map(round);
    unusable_answer(mailbox, workflow)
        .or_else(|| read_question::document(&mailbox.document(Folder::Pending, workflow)).err())
        .filter(|e| !e.is_missing_file())
        .or_else(|| claimed.filter_map(|(folder, round)| read_question::document(&mailbox.round(folder, &round)).err()).next())
        .filter(|e| !e.is_missing_file())
}

/// Returns the newest round of a workflow: the last of [`open_of_workflow`], or the one that was closed last.
pub fn latest(mailbox: &Mailbox, workflow: &WorkflowId) -> Option<Round> {
    open_of_workflow(mailbox, workflow).pop().or_else(|| {
        let closed = recent_rounds::closed_last(mailbox, workflow, 1).pop();
        // During the scan, the next question may have been asked after the look at `pending/`, before this round was closed.
        let asked = in_document(mailbox, workflow, Folder::Pending).ok().filter(|asked| is_not_closed(mailbox, &asked.id));
        asked.or_else(|| closed.map(|(id, document)| Round { folder: Folder::Closed, id, document }))
    })
}

/// Returns the first document of a workflow that began as a task. The rounds are read in the order of their ids, which is the order of their
/// beginning. So usually one document is read.
pub fn first_task(mailbox: &Mailbox, workflow: &WorkflowId) -> Option<Question> {
    let mut ids: Vec<RoundId> = list::rounds_of(mailbox, workflow).collect();
    ids.sort_unstable();
    let closed = ids.iter().filter_map(|id| in_closed(mailbox, id));
    let open = std::iter::once_with(|| open_of_workflow(mailbox, workflow)).flatten();
    closed.chain(open).map(|found| found.document.typed).find(|question| question.prompt.is_some())
}
