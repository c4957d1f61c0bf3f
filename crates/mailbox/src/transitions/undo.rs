//! The transition `answered/` → `pending/` on request: a person takes back an answer that no process has claimed yet.
//!
//! The steps run under the workflow's lock. Every claimant takes this lock, too, so either the claim or the undo finds the answer:
//! 1. Check that the answer is there, and that a person gave it.
//! 2. Replace `answered/WORKFLOW.json` by the question without its answer, with `taken_back`. This is **the commit point**: no
//!    program takes such a file for an answer. `taken_back` holds the hash of a signed answer, so that a copy of it does not count
//!    again: see [`withdrawn`]. If the question's time is over, the question stays open from now on, whatever
//!    `on_expiry` said.
//! 3. Remove the answer from the checkpoints.
//! 4. Move the file to `pending/`, and make its timers.
//!
//! If the program dies after step 2, the next undo or post does the rest. The watcher also does it, as for every question without
//! an answer in `answered/`: see [`super::answered_by_hand`].
//!
//! Also the same transition of an answer that does not count: the operator does not trust it (see
//! [`trust`](crate::trust)).
//!
//! The steps, under the workflow's lock:
//! 1. Keep a copy of the document in `quarantine/`, with the reason beside it.
//! 2. Replace `answered/WORKFLOW.json` by the question without its answer, with `taken_back`. This is **the commit point**.
//! 3. Remove the answer from the checkpoints, move the file to `pending/`, and make its timers. Steps 2 and 3 are those of an
//!    undo.
//!
//! If the program dies before step 2, the next claimant refuses the answer again, and the copy is already there. So the question
//! waits for an answer that counts, and the refused answer is not lost.

use crate::audit::{self, Entry};
use crate::checkpoints::user_answer;
use crate::documents::closing::TakenBack;
use crate::documents::question::MAX_TAKEN_BACK;
use crate::transitions::answered_by_hand;
use crate::trust::policy::WhyRefused;
use crate::trust::withdrawn;
use crate::{
    Answer, Error, Folder, Mailbox, OnExpiry, Placed, Question, QuestionDocument, QuestionId, Result, RoundId, Stored, WorkflowId,
    WorkflowLock, disk, quarantine, read_question, round, settle, text, time, timers,
};

/// An answer that was taken back.
#[derive(Debug)]
pub struct Undone {
    /// The round, which waits for an answer again.
    pub round: RoundId,
    /// The giver of the answer, with its channel and age, in words.
    pub answer: String,
    /// A warning if something failed after the answer was taken back.
    pub warning: Option<String>,
}

/// Takes the answer of a workflow back. If `expect` is given, only an answer of that round. `by` is the name of the person who
/// takes it back.
///
/// # Errors
/// - [`Error::NotFound`] if the workflow has no round.
/// - [`Error::Conflict`] if no answer can be taken back. The same if another file took the question's place in `pending/` while the
///   answer was taken back.
/// - [`Error::Invalid`] if the document cannot be used, or would be too long for `pending/`.
/// - [`Error::Held`] if another process keeps the lock.
/// - [`Error::Io`] if the system refuses.
pub fn undo(mailbox: &Mailbox, workflow: &WorkflowId, expect: Option<QuestionId>, by: &str) -> Result<Undone> {
    let lock = mailbox.lock(workflow)?;
    if let Some((undone, back)) = complete_interrupted(mailbox, &lock)? {
        return back.told(undone);
    }
    let (document, answer) = answered(mailbox, &lock)?;
    let round = round::round_of(mailbox, &document.typed)?;
    if let Some(expected) = expect.filter(|e| *e != round.question) {
        let hint = ("look at it", format!("ask-answer show {workflow}"));
        return Err(Error::conflict(format!("the answer of {workflow} is that of round {}, not of {expected}", round.question), hint));
    }
    is_a_persons(workflow, &answer)?;
    let entry = Entry::about_round("taken_back", &round).answer(document.typed.hash().ok(), &answer).by(by);
    let back = without_answer(mailbox, document, &round, by, None)?;
    audit::record(mailbox, entry);
    back.told(Undone { round, answer: answer.who(), warning: None })
}

/// Where a question is once its answer was taken away.
#[must_use = "the question may not wait"]
pub(super) enum Back {
    /// It waits again. The warning says what failed.
    Waits(Option<String>),
    /// It does not wait: another program wrote `pending/WORKFLOW.json` at the same time.
    Displaced,
}

impl Back {
    fn told(self, undone: Undone) -> Result<Undone> {
        let workflow = &undone.round.workflow;
        match self {
            Self::Waits(warning) => Ok(Undone { warning, ..undone }),
            Self::Displaced => Err(Error::conflict(
                format!("the answer of {workflow} was taken back, but its question does not wait: another file took its place in pending/"),
                (
                    "the earlier question is in quarantine/, unless it was replaced; look at what waits now",
                    format!("ask-answer show {workflow}"),
                ),
            )),
        }
    }
}

/// Steps 2 to 4, for an answer that its person took back, or that was `refused`.
///
/// # Errors
/// [`Error::Invalid`] if the question is too long for `pending/`.
pub(super) fn without_answer(
    mailbox: &Mailbox,
    mut document: QuestionDocument,
    round: &RoundId,
    by: &str,
    refused: Option<&str>,
) -> Result<Back> {
    let Some(given) = document.typed.answer.take() else { return Ok(Back::Waits(None)) };
    document.typed.question_id = Some(round.question);
    // A refused answer may count once its operator has changed the configuration. One that was taken back never does.
    let withdrawn = withdrawn::hash(&document.typed, &given).filter(|_| refused.is_none());
    if document.typed.expires_at.is_some_and(|at| at <= time::now()) {
        // The person who takes the answer back is present, so only this person may decide now, and no default.
        document.typed.on_expiry = Some(OnExpiry::Keep);
    }
    document.typed.taken_back = Some(TakenBack::now(by, &given, refused, withdrawn, document.typed.taken_back.take()));
    document.update()?;
    disk::replace(&mailbox.document(Folder::Answered, &round.workflow), &document.to_file_within(MAX_TAKEN_BACK)?)?;
    Ok(complete(mailbox, &document.typed, round))
}

/// Completes an undo whose process died after its commit point. The question then has no answer, and `taken_back` says whose answer
/// it had.
pub(super) fn complete_interrupted(mailbox: &Mailbox, lock: &WorkflowLock) -> Result<Option<(Undone, Back)>> {
    let Ok(document) = answered_by_hand::readable(&mailbox.document(Folder::Answered, lock.workflow()), lock.workflow()) else {
        return Ok(None);
    };
    let Some(back) = document.typed.taken_back.clone().filter(|_| document.typed.answer.is_none()) else { return Ok(None) };
    let round = round::round_of(mailbox, &document.typed)?;
    let held = user_answer::given_by_hand(mailbox, &mailbox.document(Folder::Answered, lock.workflow()), &document.typed, &round);
    if held.is_some() || round::is_claimed_or_closed(mailbox, &round) {
        return Ok(None);
    }
    let completed = complete(mailbox, &document.typed, &round);
    audit::record(
        mailbox,
        Entry::about_round("taken_back", &round).question(&document.typed).by(&back.by).why("an undo that was interrupted"),
    );
    Ok(Some((Undone { round, answer: back.answer, warning: None }, completed)))
}

/// Steps 3 and 4.
fn complete(mailbox: &Mailbox, question: &Question, round: &RoundId) -> Back {
    let path = mailbox.document(Folder::Answered, &round.workflow);
    let mut warning = user_answer::clear(mailbox, question, round);
    match disk::rename(&path, &mailbox.document(Folder::Pending, &round.workflow)) {
        Ok(Placed::Done) => {}
        // If this fails, the watcher does the same.
        Ok(Placed::NameExists) => drop(answered_by_hand::put_back(mailbox, &path, round)),
        Err(e) => return Back::Waits(Some(format!("the watcher moves the question back to pending/: {e}"))),
    }
    // A program that writes by hand takes no lock, and may replace what was moved there.
    if !waits(mailbox, round) {
        return Back::Displaced;
    }
    if let Err(e) = timers::arm(mailbox, question, round) {
        warning.get_or_insert(format!("its timers are made by the watcher: {e}"));
    }
    Back::Waits(warning)
}

/// True if the question in `pending/` is that of this round.
fn waits(mailbox: &Mailbox, round: &RoundId) -> bool {
    let pending = read_question::pending(mailbox, &round.workflow).and_then(|d| round::round_of(mailbox, &d.typed));
    pending.is_ok_and(|pending| pending == *round)
}

/// Returns the answered document and its answer.
fn answered(mailbox: &Mailbox, lock: &WorkflowLock) -> Result<(QuestionDocument, Answer)> {
    let workflow = lock.workflow();
    answered_by_hand::clear_brought_back(mailbox, lock)?;
    let pending = settle::settle(mailbox, lock)?;
    let Some(document) = disk::if_there(answered_by_hand::readable(&mailbox.document(Folder::Answered, workflow), workflow))? else {
        return Err(nothing_to_take_back(mailbox, workflow));
    };
    let show = ("look at it", format!("ask-answer show {workflow}"));
    if pending.is_some() {
        return Err(Error::conflict(format!("{workflow} asks its next question already, so the earlier one cannot wait again"), show));
    }
    match document.typed.answer.clone().filter(|answer| !answer.is_blank()) {
        Some(answer) => Ok((document, answer)),
        None => Err(Error::conflict(format!("the question of {workflow} was moved to answered/ without an answer"), show)),
    }
}

fn nothing_to_take_back(mailbox: &Mailbox, workflow: &WorkflowId) -> Error {
    let show = ("look at it", format!("ask-answer show {workflow}"));
    let Some(last) = round::latest(mailbox, workflow) else {
        return Error::not_found(format!("{workflow} has asked nothing"), ("list the questions", "ask-answer list"));
    };
    match (&last.document.typed.closed, last.folder) {
        (None, Folder::Pending) => Error::conflict(format!("the question of {workflow} is not answered yet"), show),
        (None, Folder::Running) => Error::conflict(
            format!("a process has taken the answer of {workflow} already"),
            ("stop the run, if there is one", format!("relaunch stop {workflow}")),
        ),
        (closed, folder) => {
            let state = closed.as_ref().map_or(folder.name(), |c| c.state.word());
            Error::conflict(format!("the question of {workflow} is {state}: its answer cannot be taken back"), show)
        }
    }
}

/// Fails unless a person gave the answer: only a person's decision can be taken back.
fn is_a_persons(workflow: &WorkflowId, answer: &Answer) -> Result<()> {
    if answer.is_a_persons() {
        return Ok(());
    }
    let hint = ("tell the agent when it asks again, or stop its run", format!("relaunch stop {workflow}"));
    Err(Error::conflict(format!("nobody answered {workflow}: it was {}", answer.who()), hint))
}

/// The beginning of the reason in `quarantine/`.
pub const REFUSED: &str = "its answer was refused: ";

/// Refuses the answer of a complete document in `answered/`, because of `why`. A document without an answer stays as it is. The
/// caller holds the workflow's lock and has settled the workflow.
///
/// # Errors
/// [`Error::Failed`] if the quarantine has no name left for the copy. [`Error::Io`] if the system refuses.
pub fn refuse(mailbox: &Mailbox, lock: &WorkflowLock, document: QuestionDocument, round: &RoundId, why: &WhyRefused) -> Result<()> {
    let path = mailbox.document(Folder::Answered, lock.workflow());
    let Some(answer) = document.typed.answer.clone() else { return Ok(()) };
    let entry = Entry::about_round("refused", round).answer(document.typed.hash().ok(), &answer).by(&answer.by);
    let bytes = disk::read(&path, <crate::Question as Stored>::LARGEST)?;
    let reason = format!("{REFUSED}{} ({})", why.0, text::one_line(&answer.said_by()));
    let kept = quarantine::keep_copy(mailbox, &path, &bytes, &reason)?;
    let kept = text::file_name(kept.file_name().unwrap_or_default());
    match without_answer(mailbox, document, round, "askbox", Some(&why.0)) {
        Ok(_) => {}
        // The document is too long for pending/.
        Err(Error::Invalid { .. }) => {
            quarantine::quarantine(mailbox, &path, round.workflow.file_name(), &reason)?;
        }
        Err(e) => return Err(e),
    }
    audit::record(mailbox, entry.why(format!("{}; see quarantine/{kept}.reason", why.0)));
    tracing::warn!(event = "refused", workflow = %round.workflow, "an answer of {}: {}; see quarantine/{kept}.reason", round.workflow, why.0);
    Ok(())
}
