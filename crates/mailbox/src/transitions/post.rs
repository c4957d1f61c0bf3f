//! The transition to `pending/`: a question is posted.
//!
//! 1. Check the question. Refuse a `question_id` that is in use. Give the question a new `question_id`, and a `timestamp`.
//! 2. Write the files that are shown beside the question. Keep a copy of a checkpoint that lies under a temporary folder. Arm the
//!    question's timers. Note the workflow as its parent's child.
//! 3. Create `pending/WORKFLOW.json`, durably and never replacing. This is **the commit point**.
//!
//! These steps need no lock, so a post usually does not wait. Only if the workflow has a file in `pending/` or `answered/`, the
//! post continues under the workflow's lock: it settles the workflow and tries again. Then the same question again changes nothing
//! and gets the first receipt. Another question is a conflict, or supersedes the first.
//!
//! An asker that waits posts under the lock in any case: if the answer to the same question lies in `answered/`, it takes that answer, and
//! nothing is posted ([`post_unless_answered`]). An answer that comes at the same time is either found there, or has no pending question.

use crate::attachments::{self, Written};
use crate::audit::{self, Entry};
use crate::checkpoints::store;
use crate::documents::checks::{check_draft, check_question};
use crate::documents::question::MAX_QUESTION;
use crate::transitions::answered_by_hand::{self, Adopted};
use crate::transitions::{close, undo};
use crate::{
    AttachedFile, Closed, Closing, Document, Error, Folder, Mailbox, Placed, Question, QuestionDocument, QuestionId, Result, RoundId,
    WorkflowId, WorkflowLock, children, disk, read_question, round, settle, time, timers,
};

/// The effect of a post if another question of the workflow is pending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IfPending {
    /// Refuse the post.
    Conflict,
    /// Close the pending question as superseded and post the new one. The question of a session's dialog is never superseded: the session
    /// still shows the dialog, and its hook waits for this answer.
    Supersede,
}

/// The proof that a question is pending.
#[derive(Debug, Clone, PartialEq)]
pub struct Receipt {
    /// The question's round.
    pub round: RoundId,
    /// The pending question.
    pub question: Question,
    /// True if the same question was pending before, and nothing was written.
    pub repeated: bool,
}

/// The outcome of a post by an asker that waits.
#[derive(Debug, Clone, PartialEq)]
pub enum Posted {
    /// The question is pending.
    Pending(Box<Receipt>),
    /// The same question was answered before, in this round, and nobody has taken the answer. Nothing was posted.
    Answered(RoundId),
}

/// A question that is ready for step 3.
struct Prepared<'a> {
    document: QuestionDocument,
    round: RoundId,
    bytes: Vec<u8>,
    attached: Written<'a>,
}

impl Prepared<'_> {
    fn entry(&self) -> Entry {
        let question = &self.document.typed;
        Entry::about_round("posted", &self.round).question(question).by(question.asked_by.as_deref().unwrap_or_default())
    }
}

/// Posts a question. Once this returns, the question survives a power cut.
///
/// # Errors
/// - [`Error::Invalid`] if the question is not valid.
/// - [`Error::Conflict`] if another question of the workflow is pending and is not superseded, or if the question's own `question_id` is
///   in use.
/// - [`Error::NotFound`] or [`Error::Failed`] if its checkpoint cannot be copied.
/// - [`Error::Held`] if another process keeps the lock.
/// - [`Error::Io`] if the system refuses.
pub fn post(mailbox: &Mailbox, question: Question, if_pending: IfPending) -> Result<Receipt> {
    post_document(mailbox, Document::draft(question), if_pending)
}

/// [`post`] for a document with unknown fields, which are kept.
///
/// # Errors
/// Those of [`post`].
pub fn post_document(mailbox: &Mailbox, document: QuestionDocument, if_pending: IfPending) -> Result<Receipt> {
    post_with_files(mailbox, document, &[], if_pending)
}

/// [`post_document`] with the files that the person is shown beside the question.
///
/// # Errors
/// Those of [`post`]. [`Error::Invalid`] with the field `attachments` also if there are too many files.
pub fn post_with_files(mailbox: &Mailbox, document: QuestionDocument, files: &[AttachedFile], if_pending: IfPending) -> Result<Receipt> {
    let prepared = prepare(mailbox, document, files)?;
    if disk::exists(mailbox.document(Folder::Answered, &prepared.round.workflow)) {
        // The answer there may have been in the middle of being taken back. Then that question waits again, and comes first.
        return post_locked_or_disarm(mailbox, prepared, if_pending);
    }
    let placed = disk::create(&mailbox.document(Folder::Pending, &prepared.round.workflow), &prepared.bytes)?;
    if placed == Placed::NameExists {
        return post_locked_or_disarm(mailbox, prepared, if_pending);
    }
    audit::record(mailbox, prepared.entry());
    prepared.attached.stay();
    Ok(Receipt { round: prepared.round, question: prepared.document.typed, repeated: false })
}

/// [`post_with_files`] for an asker that waits for the answer. Posts nothing if the answer to the same question waits to be taken: the asker
/// then has asked before, and has not lived to hear the answer.
///
/// # Errors
/// Those of [`post_with_files`].
pub fn post_unless_answered(
    mailbox: &Mailbox,
    document: QuestionDocument,
    files: &[AttachedFile],
    if_pending: IfPending,
) -> Result<Posted> {
    // A question that is brought along with its id may have been answered in this moment.
    if let Some(round) = document.typed.round()
        && under_lock(mailbox, &round.workflow, |lock| Ok(answered_before(mailbox, lock, &document.typed)))?.as_ref() == Some(&round)
    {
        return Ok(Posted::Answered(round));
    }
    let Prepared { document, round, bytes, attached } = prepare(mailbox, document, files)?;
    let question = &document.typed;
    let posted = under_lock(mailbox, &round.workflow, |lock| match answered_before(mailbox, lock, question) {
        Some(answered) => Ok(Posted::Answered(answered)),
        None => post_locked(mailbox, lock, question, &round, &bytes, if_pending).map(|receipt| Posted::Pending(Box::new(receipt))),
    });
    if matches!(&posted, Ok(Posted::Pending(receipt)) if !receipt.repeated) {
        attached.stay();
    } else {
        timers::disarm(mailbox, question, &round);
    }
    posted
}

/// The round in `answered/`, if it asked the same as this question. A question that askbox asks in the name of a call or a session is not
/// an asker's.
fn answered_before(mailbox: &Mailbox, lock: &WorkflowLock, question: &Question) -> Option<RoundId> {
    // A file there that cannot be read now is left to the program that claims it.
    let Ok(Adopted::Ready(earlier, round)) = answered_by_hand::adopt(mailbox, lock) else { return None };
    let Question { approval, elicited_by, live, to_session, .. } = &earlier.typed;
    let is_of_asker = approval.is_none() && elicited_by.is_none() && live.is_none() && !to_session;
    (is_of_asker && asks_the_same(&earlier.typed, question)).then_some(round)
}

/// Posts many questions with one sync of the folder. Each is posted or refused by itself; the results are in the order of
/// `documents`. Once this returns, every question with a receipt survives a power cut.
///
/// # Errors
/// [`Error::Io`] if the disk fails. None of the questions is posted then. A single result has the errors of [`post`].
pub fn post_many(mailbox: &Mailbox, documents: Vec<Result<QuestionDocument>>, if_pending: IfPending) -> Result<Vec<Result<Receipt>>> {
    let prepared: Vec<Result<Prepared<'_>>> = documents.into_iter().map(|document| prepare(mailbox, document?, &[])).collect();
    let files: Vec<_> =
        prepared.iter().flatten().map(|p| (mailbox.document(Folder::Pending, &p.round.workflow), p.bytes.as_slice())).collect();
    let placed = disk::create_all(&mailbox.folder(Folder::Pending), &files);
    drop(files);
    let mut placed = match placed {
        Ok(placed) => placed.into_iter(),
        Err(e) => {
            prepared.iter().flatten().for_each(|p| timers::disarm(mailbox, &p.document.typed, &p.round));
            return Err(e);
        }
    };
    let mut posted = Vec::new();
    let mut results = Vec::with_capacity(prepared.len());
    for prepared in prepared {
        results.push(prepared.and_then(|prepared| {
            if placed.next() != Some(Placed::Done) {
                return post_locked_or_disarm(mailbox, prepared, if_pending);
            }
            posted.push(prepared.entry());
            Ok(Receipt { round: prepared.round, question: prepared.document.typed, repeated: false })
        }));
    }
    audit::record_all(mailbox, &posted);
    Ok(results)
}

/// Steps 1 and 2.
fn prepare<'a>(mailbox: &'a Mailbox, mut document: QuestionDocument, files: &[AttachedFile]) -> Result<Prepared<'a>> {
    if !document.typed.attachments.is_empty() {
        let fix = ("leave them out, and give the files with the question", "ask-post --attach FILE");
        return Err(Error::invalid("attachments", "are given, but their files are not in the mailbox", fix));
    }
    document.typed.attachments = files.iter().map(|file| file.about.clone()).collect();
    check_question::check(&document.typed)?;
    check_draft::check(&document)?;
    let question = &mut document.typed;
    refuse_used_id(mailbox, question)?;
    let round = RoundId { workflow: question.workflow_id.clone(), question: QuestionId::generate() };
    question.question_id = Some(round.question);
    question.schema_version = Some(crate::document::SCHEMA_VERSION);
    question.timestamp.get_or_insert_with(|| time::rfc3339(time::now()));
    document.update()?;
    let bytes = document.to_file_within(MAX_QUESTION)?;
    let attached = attachments::write(mailbox, &round, files)?;
    store::keep_copy(mailbox, &document.typed)?;
    timers::arm(mailbox, &document.typed, &round)?;
    children::note_asker(mailbox, &document.typed)?;
    Ok(Prepared { document, round, bytes, attached })
}

/// Refuses a document with the id of a round that was answered, claimed or closed: such a document was posted before.
fn refuse_used_id(mailbox: &Mailbox, question: &Question) -> Result<()> {
    let Some(round) = question.round() else { return Ok(()) };
    let is_answered = || {
        read_question::document(&mailbox.document(Folder::Answered, &round.workflow))
            .is_ok_and(|d| d.typed.question_id == Some(round.question) && d.typed.answer.is_some())
    };
    if !round::is_claimed_or_closed(mailbox, &round) && !is_answered() {
        return Ok(());
    }
    let hint = "leave question_id out: every post gets a new one";
    Err(Error::conflict(format!("question_id {} is in use: {} has asked that question before", round.question, round.workflow), hint))
}

/// Posts a question when `pending/WORKFLOW.json` or `answered/WORKFLOW.json` exists. Removes its timers and
/// its files again if it is not posted.
fn post_locked_or_disarm(mailbox: &Mailbox, prepared: Prepared<'_>, if_pending: IfPending) -> Result<Receipt> {
    let Prepared { document, round, bytes, attached } = prepared;
    let posted = under_lock(mailbox, &round.workflow, |lock| post_locked(mailbox, lock, &document.typed, &round, &bytes, if_pending));
    if matches!(&posted, Ok(receipt) if !receipt.repeated) {
        attached.stay();
    } else {
        timers::disarm(mailbox, &document.typed, &round);
    }
    posted
}

/// Does something under the workflow's lock, after settling: the file in `pending/` may belong to a transition that is half done.
fn under_lock<T>(mailbox: &Mailbox, workflow: &WorkflowId, then: impl FnOnce(&WorkflowLock) -> Result<T>) -> Result<T> {
    let lock = mailbox.lock(workflow)?;
    undo::complete_interrupted(mailbox, &lock)?;
    settle::settle(mailbox, &lock)?;
    then(&lock)
}

/// Tries to post under the lock.
fn post_locked(
    mailbox: &Mailbox,
    lock: &WorkflowLock,
    question: &Question,
    round: &RoundId,
    bytes: &[u8],
    if_pending: IfPending,
) -> Result<Receipt> {
    let path = mailbox.document(Folder::Pending, &round.workflow);
    if disk::create(&path, bytes)? == Placed::NameExists {
        let earlier = read_question::pending(mailbox, &round.workflow)?;
        let is_dialogs = earlier.typed.live.is_some();
        // For the person who reads it and for the agent that resumes.
        let is_same = asks_the_same(&earlier.typed, question) && earlier.typed.checkpoint == question.checkpoint;
        if is_same && is_dialogs == question.live.is_some() {
            return Ok(Receipt { round: round::of_pending(mailbox, &earlier.typed)?, question: earlier.typed, repeated: true });
        }
        if is_dialogs {
            return Err(Error::conflict(
                format!("{} is the dialog of a session, and no other question takes its place", round.workflow),
                "ask under another name: -w NAME",
            ));
        }
        if if_pending == IfPending::Conflict {
            let title = crate::text::excerpt(&earlier.typed.title(), 60);
            let hint = "wait for its answer, or replace it with --supersede";
            return Err(Error::conflict(format!("{} already asks another question: {title}", round.workflow), hint));
        }
        close::pending(mailbox, lock, earlier, Closing::now(Closed::Superseded, question.asked_by.as_deref().unwrap_or("asker"), None))?;
        if disk::create(&path, bytes)? == Placed::NameExists {
            let hint = ("look at it first", format!("ask-answer show {}", round.workflow));
            return Err(Error::conflict(format!("{} was given another question just now", round.workflow), hint));
        }
    }
    audit::record(mailbox, Entry::about_round("posted", round).question(question).by(question.asked_by.as_deref().unwrap_or_default()));
    Ok(Receipt { round: round.clone(), question: question.clone(), repeated: false })
}

/// True if two questions have the same words, wait for the same event, and show the same files.
pub fn asks_the_same(a: &Question, b: &Question) -> bool {
    has_same_words(a, b) && a.until == b.until && a.attachments == b.attachments
}

/// True if two questions are the same for the person who reads them: their words, what can be chosen, and their context.
pub fn has_same_words(a: &Question, b: &Question) -> bool {
    let words = |q: &Question| (q.question.clone(), q.kind, q.options.clone(), q.questions.clone(), q.context.clone());
    words(a) == words(b)
}
