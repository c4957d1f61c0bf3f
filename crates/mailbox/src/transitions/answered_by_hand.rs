//! Answers by hand: a file that another program put into `answered/`, for example by `mv pending/x answered/x`.
//!
//! Such a file counts as answered if the file itself or the checkpoint's `user_answer` holds an answer that fits (see
//! [`user_answer`]). The steps, under the workflow's lock:
//! 1. Read and check the question. An unusable file goes to quarantine after its grace time.
//! 2. Find the answer. If there is none after the grace time, move the file back to `pending/`.
//! 3. Write the answer into the checkpoints.
//! 4. Replace the document by its complete form, with `question_id` and an `answer` that has `at` and `question_hash`. This is
//!    **the commit point**.
//! 5. Remove its timers.

use std::path::Path;
use std::time::Duration;

use crate::audit::{self, Entry};
use crate::checkpoints::{store, user_answer};
use crate::documents::checks::check_answer::{self, Given};
use crate::documents::checks::check_question;
use crate::documents::question::{MAX_QUESTION, MAX_UNTIL_CLOSED};
use crate::quarantine::{grace_left, quarantine};
use crate::transitions::replayed;
use crate::{
    Answer, Error, Folder, Mailbox, Placed, Question, QuestionDocument, Result, RoundId, Shown, Through, WorkflowId, WorkflowLock, disk,
    document, read_question, round, time, timers, wake,
};

/// The result of [`adopt`].
#[derive(Debug)]
pub enum Adopted {
    /// A complete answered document, which may be claimed.
    Ready(Box<QuestionDocument>, RoundId),
    /// Nothing is there. Perhaps a power cut had brought a file back, which is removed now.
    Nothing,
    /// An incomplete file, which another program may still be writing. The duration is the rest of its grace time.
    InGrace(Duration),
    /// A question without an answer. It was moved back to `pending/`.
    Undone,
    /// An unusable file. It was moved to quarantine.
    Quarantined,
}

/// Brings `answered/WORKFLOW.json` into its complete form. The caller holds the workflow's lock.
///
/// # Errors
/// [`Error::Newer`] if a newer askbox wrote the file. [`Error::Io`] if the system refuses.
pub fn adopt(mailbox: &Mailbox, lock: &WorkflowLock) -> Result<Adopted> {
    let workflow = lock.workflow();
    let path = mailbox.document(Folder::Answered, workflow);
    let mut document = match readable(&path, workflow) {
        Ok(document) => document,
        Err(e) if e.is_missing_file() => return Ok(Adopted::Nothing),
        Err(e @ Error::Invalid { .. }) => return unusable(mailbox, &path, &e),
        Err(e) => return Err(e),
    };
    let round = round::round_of(mailbox, &document.typed)?;
    if let Some(over) = if_over(mailbox, &path, &document, &round)? {
        return Ok(over);
    }
    // Only askbox and programs that follow its protocol write these fields.
    let is_complete = |a: &Answer| a.at.is_some() && a.question_hash.is_some();
    if document.typed.question_id.is_some() && document.typed.answer.as_ref().is_some_and(is_complete) {
        return Ok(Adopted::Ready(Box::new(document), round));
    }
    if document.typed.taken_back.is_some() && document.typed.answer.is_none() {
        // An `undo` whose process died left this step.
        let _ = user_answer::clear(mailbox, &document.typed, &round);
    }
    // An empty value is not an answer.
    let given = match document.typed.answer.take().filter(|answer| !answer.is_blank()) {
        Some(answer) => Some(answer),
        None => user_answer::given_by_hand(mailbox, &path, &document.typed, &round),
    };
    let reply = given
        .ok_or_else(|| Unusable::said(no_answer(mailbox, &document.typed)))
        .and_then(|answer| check_answer::check(&document.typed, answer, Given::InOwnWords).map_err(|e| Unusable::answer(&e)));
    let reply = match (reply, grace_left(&path)) {
        (Ok(reply), _) => reply,
        (Err(_), Some(left)) => return Ok(Adopted::InGrace(left)),
        (Err(why), None) => return undo(mailbox, &path, &round, &why),
    };
    let or_hand = |s: &str| if s.is_empty() { "hand".to_owned() } else { s.to_owned() };
    let reply = Answer {
        // Only the watcher may answer without a person.
        by: if reply.is_a_persons() { or_hand(&reply.by) } else { "hand".to_owned() },
        channel: or_hand(&reply.channel),
        through: Some(Through::File),
        at: Some(time::to_the_millisecond(reply.at.unwrap_or_else(|| read_question::modified(&path).into()))),
        question_hash: Some(document.typed.hash()?),
        shown: Some(Shown::of_question(&document.typed)?),
        ..reply
    };
    document.typed.question_id = Some(round.question);
    document.typed.answer = Some(reply.clone());
    document.update()?;
    let file = match document.to_file_within(MAX_UNTIL_CLOSED) {
        Ok(file) => file,
        Err(e) => return unusable(mailbox, &path, &e.in_file(&path)),
    };
    // With `user_answer_to` set, the value cannot be taken for an answer to a later question. A failure does no harm: the
    // answer is in the document.
    let _ = user_answer::write(mailbox, &document, &round, &reply);
    let entry =
        Entry::about_round(reply.event(), &round).answer(document.typed.hash().ok(), &reply).by(&reply.by).why("a file put into answered/");
    disk::replace(&path, &file)?;
    timers::disarm(mailbox, &document.typed, &round);
    audit::record(mailbox, entry);
    wake::by_answer(mailbox, &document.typed);
    Ok(Adopted::Ready(Box::new(document), round))
}

/// Reads an answered document, if it is a valid one of this workflow and is short enough to be closed later.
pub(crate) fn readable(path: &Path, workflow: &WorkflowId) -> Result<QuestionDocument> {
    let document = read_question::document(path)?;
    read_question::check_name(path, &document.typed, workflow)?;
    check_question::check(&document.typed).map_err(|e| e.in_file(path))?;
    // The document must have room left for `closed`, or its round could never end.
    let length = document.to_bytes().len();
    if length as u64 > MAX_UNTIL_CLOSED { Err(document::too_long(length, MAX_UNTIL_CLOSED).in_file(path)) } else { Ok(document) }
}

/// Moves an unusable file to quarantine once its grace time is over.
fn unusable(mailbox: &Mailbox, path: &Path, error: &Error) -> Result<Adopted> {
    if let Some(left) = grace_left(path) {
        return Ok(Adopted::InGrace(left));
    }
    quarantine(mailbox, path, path.file_name().unwrap_or_default(), &error.to_string())?;
    Ok(Adopted::Quarantined)
}

/// Removes an answer from `answered/` if its round was claimed or closed with it before, so that it does not block the next answer.
/// Leaves every other file to [`adopt`].
pub(super) fn clear_brought_back(mailbox: &Mailbox, lock: &WorkflowLock) -> Result<()> {
    let path = mailbox.document(Folder::Answered, lock.workflow());
    if !disk::exists(&path) {
        return Ok(());
    }
    let Ok(document) = readable(&path, lock.workflow()) else { return Ok(()) };
    let round = round::round_of(mailbox, &document.typed)?;
    if_over(mailbox, &path, &document, &round).map(drop)
}

/// Removes the document or moves it to quarantine, if its round was claimed or closed before. Returns `None` if it was not.
fn if_over(mailbox: &Mailbox, path: &Path, document: &QuestionDocument, round: &RoundId) -> Result<Option<Adopted>> {
    if document.typed.round().is_some() {
        replayed::set_aside(mailbox, round, &document.typed)?;
    }
    if document.typed.round().is_none() || !round::is_claimed_or_closed(mailbox, round) {
        return Ok(None);
    }
    // It was claimed with this same answer. The move out of `answered/` is not synced, so a power cut can bring the file back.
    let has_answer = |claimed: QuestionDocument| claimed.typed.answer == document.typed.answer;
    if document.typed.answer.is_some() && round::claimed_or_closed(mailbox, round).any(has_answer) {
        disk::untouch(path)?;
        return Ok(Some(Adopted::Nothing));
    }
    let reason = format!("its question_id {} names a round that was claimed or closed before", round.question);
    quarantine(mailbox, path, round.workflow.file_name(), &reason)?;
    Ok(Some(Adopted::Quarantined))
}

/// Moves the question of an answer that was taken back to `pending/`, or to quarantine if another file is there.
pub(super) fn put_back(mailbox: &Mailbox, path: &Path, round: &RoundId) -> Result<Adopted> {
    undo(mailbox, path, round, &Unusable::said("its answer was taken back".into()))
}

/// Moves a question without an answer back to `pending/`. Returns true if it did.
pub(super) fn take_back(mailbox: &Mailbox, lock: &WorkflowLock) -> Result<bool> {
    let path = mailbox.document(Folder::Answered, lock.workflow());
    let Ok(document) = read_question::document(&path) else { return Ok(false) };
    if document.typed.answer.as_ref().is_some_and(|a| !a.is_blank())
        || read_question::check_name(&path, &document.typed, lock.workflow()).is_err()
    {
        return Ok(false);
    }
    let round = round::round_of(mailbox, &document.typed)?;
    if user_answer::given_by_hand(mailbox, &path, &document.typed, &round).is_some() {
        return Ok(false);
    }
    Ok(matches!(undo(mailbox, &path, &round, &Unusable::said(NO_ANSWER.into()))?, Adopted::Undone))
}

const NO_ANSWER: &str = "no answer came with it";

/// The reason why a question that was moved by hand is not answered.
struct Unusable {
    /// The reason for the file's `.reason`. It may quote the answer.
    why: String,
    /// The reason for the audit trail, without quotes.
    without_quotes: String,
}

impl Unusable {
    fn said(why: String) -> Self {
        Self { without_quotes: why.clone(), why }
    }

    fn answer(error: &Error) -> Self {
        Self { why: error.to_string(), without_quotes: "its answer does not fit the question".into() }
    }
}

/// Returns why the answer is missing. A checkpoint that does not say that it is this workflow's is not searched.
fn no_answer(mailbox: &Mailbox, question: &Question) -> String {
    match question.checkpoint.as_deref().map(|path| store::read_named(mailbox, path, &question.workflow_id)) {
        Some(Err(e)) if store::is_not_proven(&e) => format!("{NO_ANSWER}: {e}"),
        _ => NO_ANSWER.into(),
    }
}

fn undo(mailbox: &Mailbox, path: &Path, round: &RoundId, Unusable { why, without_quotes }: &Unusable) -> Result<Adopted> {
    let length = disk::metadata(path).map_or(0, |m| m.len());
    let fits = |document: QuestionDocument| length <= document.typed.largest_pending();
    // The document is too long for pending/.
    if length > MAX_QUESTION && !read_question::document(path).is_ok_and(fits) {
        quarantine(mailbox, path, round.workflow.file_name(), why)?;
        return Ok(Adopted::Quarantined);
    }
    if disk::rename(path, &mailbox.document(Folder::Pending, &round.workflow))? == Placed::NameExists {
        let pending = read_question::pending(mailbox, &round.workflow).and_then(|d| round::round_of(mailbox, &d.typed));
        let holds = if pending.is_ok_and(|p| p == *round) { "still holds the question" } else { "holds a newer question" };
        quarantine(mailbox, path, round.workflow.file_name(), &format!("in answered/, but {why}, and pending/ {holds}"))?;
        return Ok(Adopted::Quarantined);
    }
    audit::record(mailbox, Entry::about_round("undone", round).by("askbox").why(format!("moved to answered/, but {without_quotes}")));
    Ok(Adopted::Undone)
}
