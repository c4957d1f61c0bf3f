//! The transition `pending/` → `answered/`: a decision is accepted. Every surface comes through this file, and no surface has rules
//! of its own.
//!
//! The steps, under the workflow's lock:
//! 1. Remove what a power cut brought back to `answered/`, and settle the workflow ([`Waiting::find`]).
//! 2. Compare the round and what was shown, ask the caller whether it may decide, and check the value ([`Waiting::decide`]).
//! 3. Write the answered document under a temporary name.
//! 4. Write `user_answer` into the workflow's checkpoints, durably.
//! 5. Link the document to `answered/WORKFLOW.json`, never replacing. This is **the commit point**, which decides every race.
//! 6. Retire the copy in `pending/` (see [`crate::transitions::settle`]), and remove the question's timers.
//!
//! If the answer is to be signed, it is checked and signed before these steps, without the lock, because a person may have to touch
//! a token. Under the lock, the question must still be the one that was signed.
//!
//! If the program dies before step 5, nothing was accepted. If it dies after step 5, [`crate::transitions::settle`] does step 6.
//!
//! A decision about a tool call for good needs room in the workflow's record. Without it, the decision is refused: the person would not learn
//! later that it was kept for this one time only.

use uuid::Uuid;

use crate::audit::{self, Entry};
use crate::checkpoints::user_answer;
use crate::documents::awaited::{Grant, MOST_STANDING};
use crate::documents::checks::check_answer::{self, Given};
use crate::documents::fields::approval::{ONCE, WORKFLOW};
use crate::documents::question::MAX_ANSWERED;
use crate::transitions::{answered_by_hand, too_late};
use crate::trust::withdrawn;
use crate::{
    Answer, AnswerValue, Caller, Error, Folder, Lock, Mailbox, Placed, Question, QuestionDocument, QuestionId, Result, RoundId, Shown,
    WorkflowId, WorkflowLock, attachments, disk, read_question, round, settle, timers, wake, workflows,
};

/// The question that a decision is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum On {
    /// The question that waits now, whichever it is: the person was shown none. Such a decision cannot allow a tool call.
    WhatWaits,
    /// The question of this round, which the person named, whatever it asks by now. Such a decision cannot allow a tool call either.
    Round(QuestionId),
    /// The question of this round, exactly as it was shown.
    Shown(QuestionId, Shown),
    /// The question of this round, as a program of an earlier version showed it: with the `question_hash` of its text.
    Text(QuestionId, Uuid),
}

impl On {
    /// Returns the question of this round as it is now.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the question cannot be written as JSON.
    pub fn question(round: &RoundId, question: &Question) -> Result<Self> {
        Ok(Self::Shown(round.question, Shown::of_question(question)?))
    }

    /// Returns the round, if the decision names one.
    pub fn round(self) -> Option<QuestionId> {
        match self {
            Self::WhatWaits => None,
            Self::Round(id) | Self::Shown(id, _) | Self::Text(id, _) => Some(id),
        }
    }

    /// Checks that the waiting question is the one that the decision is about.
    fn check(self, round: &RoundId, question: &Question) -> Result<()> {
        let workflow = &round.workflow;
        if let Some(expected) = self.round().filter(|expected| *expected != round.question) {
            return Err(Error::conflict(
                format!("{workflow} asks another question by now (round {}, not {expected})", round.question),
                ("look at it", format!("ask-answer show {workflow}")),
            ));
        }
        let is_it = match self {
            Self::WhatWaits | Self::Round(_) => true,
            Self::Shown(_, shown) => shown.is_of(question),
            Self::Text(_, hash) => question.hash()? == hash,
        };
        if is_it { Ok(()) } else { Err(changed(workflow)) }
    }
}

impl From<Option<QuestionId>> for On {
    fn from(round: Option<QuestionId>) -> Self {
        round.map_or(Self::WhatWaits, Self::Round)
    }
}

fn changed(workflow: &WorkflowId) -> Error {
    let hint = ("look at it again", format!("ask-answer show {workflow}"));
    Error::conflict(format!("the question of {workflow} was changed while you read it"), hint)
}

/// A decision: the caller that makes it, and the question that it is about. The value is a separate [`Answer`], which the caller makes.
#[derive(Debug, Clone, Copy)]
pub struct Decision<'a> {
    /// The caller that decides.
    pub caller: &'a Caller,
    /// The question that the decision is about.
    pub on: On,
    /// How the value was given, for example in the person's own words.
    pub given: Given,
}

impl<'a> Decision<'a> {
    /// Returns the decision of a person whose program can ask the person again if the value does not fit.
    pub fn by(caller: &'a Caller, on: impl Into<On>) -> Self {
        Self { caller, on: on.into(), given: Given::ByPerson }
    }

    /// Accepts a value as the person's own words, even if it is close to an option. Use it if the person was asked about that.
    pub fn in_own_words(self) -> Self {
        Self { given: Given::InOwnWords, ..self }
    }

    /// Returns the reply in its normal form, if this decision may be made about this question.
    fn check(&self, round: &RoundId, question: &Question, reply: impl FnOnce(&Question) -> Result<Answer>) -> Result<Answer> {
        self.on.check(round, question)?;
        self.caller.may_decide(question)?;
        let reply = check_answer::check(question, reply(question)?, self.given)?;
        self.may_be_made(round.workflow.as_str(), question, &reply)?;
        Ok(reply)
    }

    /// Checks that the caller may make this decision, and that it names its question if it allows a tool call, or refuses it for good.
    /// `address` names the question in the error.
    ///
    /// # Errors
    /// [`Error::Conflict`] if the caller may not decide. [`Error::Usage`] if a tool call is allowed, or refused for good, without naming
    /// the call that was seen.
    pub fn may_be_made(&self, address: &str, question: &Question, reply: &Answer) -> Result<()> {
        self.caller.may_decide(question)?;
        if question.approval.is_some() && (reply.value.is_some() || reply.always) && !matches!(self.on, On::Shown(..) | On::Text(..)) {
            return Err(Error::usage(
                format!("{address} asks whether a tool call may be made, and this does not say which call you have seen"),
                ("look at it; the last lines are the commands to copy", format!("ask-answer show {address}")),
            ));
        }
        Ok(())
    }
}

/// An answer that was accepted.
#[derive(Debug)]
pub struct Accepted {
    /// The answered round.
    pub round: RoundId,
    /// The answered question.
    pub question: Question,
    /// The answer in its normal form, as it lies in the mailbox.
    pub answer: Answer,
    /// A warning if something else failed, such as writing the checkpoint. The answer is safe nevertheless.
    pub warning: Option<String>,
}

/// Answers, declines or asks back. `reply` was made by the decision's caller, for example with [`Caller::value`].
///
/// # Errors
/// - [`Error::NotFound`] if the workflow never asked.
/// - [`Error::Conflict`] if another answer was first, if the question is not the one that was shown, if it is over (then the answer
///   may be kept as a late one), or if the caller may not decide.
/// - [`Error::Usage`] if a tool call is allowed without naming it.
/// - [`Error::Invalid`] if the value does not fit the question.
/// - [`Error::Held`] if another process keeps the lock.
/// - [`Error::Io`] if the system refuses.
pub fn answer(mailbox: &Mailbox, workflow: &WorkflowId, decision: Decision<'_>, reply: Answer) -> Result<Accepted> {
    let accepted = answer_pending(mailbox, workflow, decision, |_| Ok(reply.clone()))?;
    accepted.ok_or_else(|| too_late::nothing_pending(mailbox, workflow, decision.caller, decision.on.round(), reply))
}

/// [`answer`] with a reply that is made from the question, under the workflow's lock, so that the question cannot change in
/// between. Returns `None` if no question is pending.
///
/// # Errors
/// Those of [`answer`] and of `reply`.
pub fn answer_pending(
    mailbox: &Mailbox,
    workflow: &WorkflowId,
    decision: Decision<'_>,
    reply: impl FnOnce(&Question) -> Result<Answer>,
) -> Result<Option<Accepted>> {
    if !decision.caller.signs() {
        let Some(waiting) = Waiting::find(mailbox, mailbox.lock(workflow)?)? else { return Ok(None) };
        return waiting.decide(decision, reply)?.accept().map(Some);
    }
    let Some(signed) = Signed::check_and_sign(mailbox, workflow, decision, reply)? else { return Ok(None) };
    let Some(waiting) = Waiting::find(mailbox, mailbox.lock(workflow)?)? else { return Ok(None) };
    waiting.decide(decision, |question| signed.to(question))?.accept().map(Some)
}

/// A signed answer, with its question.
struct Signed {
    answer: Answer,
    question: Question,
}

impl Signed {
    /// Checks and signs the answer to the pending question. Returns `None` if no question is pending.
    fn check_and_sign(
        mailbox: &Mailbox,
        workflow: &WorkflowId,
        decision: Decision<'_>,
        reply: impl FnOnce(&Question) -> Result<Answer>,
    ) -> Result<Option<Self>> {
        let Some(mut question) = disk::if_there(read_question::pending(mailbox, workflow))?.map(|document| document.typed) else {
            return Ok(None);
        };
        let round = round::of_pending(mailbox, &question)?;
        question.question_id = Some(round.question);
        let reply = decision.check(&round, &question, reply)?;
        let reply = Answer { question_hash: Some(question.hash()?), ..reply };
        let answer = decision.caller.signed(&question, reply)?;
        Ok(Some(Self { answer, question }))
    }

    /// Returns the answer, if this is still the same question.
    fn to(self, question: &Question) -> Result<Answer> {
        if *question == self.question {
            return Ok(self.answer);
        }
        let workflow = &question.workflow_id;
        let hint = ("look at it, and answer it again", format!("ask-answer show {workflow}"));
        Err(Error::conflict(format!("the question of {workflow} has changed while the answer was signed"), hint))
    }
}

/// A question that waits for an answer, under its workflow's lock. As long as this lives, no other program changes it through askbox.
#[derive(Debug)]
#[must_use = "it holds the workflow's lock"]
pub struct Waiting<'a> {
    mailbox: &'a Mailbox,
    document: QuestionDocument,
    round: RoundId,
    lock: WorkflowLock,
}

/// A decision that may be made, with a value that fits. [`Decided::accept`] makes it the answer. Dropping it changes nothing.
#[derive(Debug)]
#[must_use = "nothing is answered before it is accepted"]
pub struct Decided<'a> {
    waiting: Waiting<'a>,
    answer: Answer,
}

impl<'a> Waiting<'a> {
    /// Returns the question that waits in the workflow of this lock, or `None`.
    ///
    /// # Errors
    /// [`Error::Invalid`] or [`Error::Newer`] if the question cannot be used. [`Error::Io`] if the system refuses.
    pub fn find(mailbox: &'a Mailbox, lock: WorkflowLock) -> Result<Option<Self>> {
        answered_by_hand::clear_brought_back(mailbox, &lock)?;
        let mut document = match settle::settled_pending(mailbox, &lock) {
            Ok(document) => document,
            // The question was moved to answered/ by hand, and this is its answer.
            Err(e) if e.is_missing_file() && answered_by_hand::take_back(mailbox, &lock)? => {
                read_question::pending(mailbox, lock.workflow())?
            }
            Err(e) if e.is_missing_file() => return Ok(None),
            Err(e) => return Err(e),
        };
        let round = round::of_pending(mailbox, &document.typed)?;
        document.typed.question_id = Some(round.question);
        Ok(Some(Self { mailbox, document, round, lock }))
    }

    /// The question, with its id.
    pub fn question(&self) -> &Question {
        &self.document.typed
    }

    /// Step 2: returns the decision if it may be made. `reply` makes the answer from the question.
    ///
    /// # Errors
    /// Those of [`answer`] and of `reply`.
    pub fn decide(self, decision: Decision<'_>, reply: impl FnOnce(&Question) -> Result<Answer>) -> Result<Decided<'a>> {
        let reply = decision.check(&self.round, &self.document.typed, reply)?;
        let question = &self.document.typed;
        check(self.mailbox, &self.round.workflow, question, &reply)?;
        let shown = match decision.on {
            On::Shown(_, shown) => shown,
            On::WhatWaits | On::Round(_) | On::Text(..) => Shown::of_question(question)?,
        };
        dialog_waits(self.mailbox, question)?;
        let answer = Answer { question_hash: Some(question.hash()?), shown: Some(shown), ..reply };
        if withdrawn::holds(question, question, &answer) {
            return Err(Error::conflict(withdrawn::WHY, ("answer it again", format!("ask-answer show {}", question.workflow_id))));
        }
        Ok(Decided { waiting: self, answer })
    }
}

/// Checks that the hook beside the dialog of a live question still waits. Without it nobody could take the answer.
fn dialog_waits(mailbox: &Mailbox, question: &Question) -> Result<()> {
    let workflow = &question.workflow_id;
    if question.live.is_none() || Lock::is_held(&mailbox.waiter(workflow))? {
        return Ok(());
    }
    let hint = ("if the session still shows its dialog, answer it there; list what else waits", "ask-answer list");
    Err(Error::conflict(format!("the session that asked in {workflow} no longer waits: it has ended, or its hook was killed"), hint))
}

impl Decided<'_> {
    /// Returns the question with the answer that it will get.
    pub fn question(&self) -> Question {
        Question { answer: Some(self.answer.clone()), ..self.waiting.document.typed.clone() }
    }

    /// Steps 3 to 6: makes the decision the answer of the question.
    ///
    /// # Errors
    /// [`Error::Conflict`] if an earlier answer of the workflow still waits for its run. [`Error::Invalid`] if the document would
    /// be too long. [`Error::Io`] if the system refuses. Nothing was accepted then.
    pub fn accept(self) -> Result<Accepted> {
        let Self { waiting: Waiting { mailbox, mut document, round, lock }, answer } = self;
        let target = mailbox.document(Folder::Answered, lock.workflow());
        // This comes before the checkpoint is changed, which still holds the earlier answer.
        if disk::exists(&target) {
            return Err(too_late::earlier_answer_waits(mailbox, &round));
        }
        let entry = Entry::about_round(answer.event(), &round).answer(answer.question_hash, &answer).by(&answer.by).why(answer.means());
        document.set_field("question_id", &round.question)?;
        document.set_field("answer", &answer)?;
        // This comes before the checkpoint is changed, so that a full disk is noticed while nothing has changed yet.
        let staged = disk::stage(&target, &document.to_file_within(MAX_ANSWERED)?)?;
        let mut written = user_answer::write(mailbox, &document, &round, &answer);
        let mut warning = written.warning.take();
        match staged.place() {
            Ok(Placed::Done) => {}
            other => {
                // The answer was not accepted, so the checkpoints must not hold it.
                written.undo();
                return Err(other.map_or_else(|e| e, |_| too_late::earlier_answer_waits(mailbox, &round)));
            }
        }
        if let Err(e) = settle::retire_pending(mailbox, &round, answer.at) {
            warning.get_or_insert(format!("the answer is safe, but its question stays in pending/ until the next look: {e}"));
        }
        timers::disarm(mailbox, &document.typed, &round);
        audit::record(mailbox, entry);
        wake::by_answer(mailbox, &document.typed);
        // Reading the files may take long, and the answer needs the lock no longer.
        drop(lock);
        if answer.value.is_some()
            && let Some(damage) = attachments::damage(mailbox, &round, &document.typed)
        {
            warning.get_or_insert(format!("the question was answered although not all of its files can be shown: {damage}"));
        }
        Ok(Accepted { round, question: document.typed, answer, warning })
    }
}

/// Checks that the workflow's record can keep this reply, if it decides about a call for good.
///
/// # Errors
/// [`Error::Conflict`] if the record is full; the errors of reading it.
fn check(mailbox: &Mailbox, workflow: &WorkflowId, question: &Question, reply: &Answer) -> Result<()> {
    let Some(approval) = &question.approval else { return Ok(()) };
    let allows = matches!(&reply.value, Some(AnswerValue::Text(word)) if word == WORKFLOW);
    if !allows && !reply.always {
        return Ok(());
    }
    let Some(record) = workflows::read(mailbox, workflow)?.map(|document| document.typed) else { return Ok(()) };
    let (all, done, once) = match allows {
        true => (&record.grants, "allowed to", ONCE),
        false => (&record.refusals, "refused to", "decline"),
    };
    let is_it = |standing: &Grant| standing.tool == approval.tool && standing.sha256 == approval.sha256;
    if all.len() < MOST_STANDING || all.iter().any(is_it) {
        return Ok(());
    }
    let hint = (format!("decide this call alone (`{once}`), or take some back"), format!("relaunch approve --list {workflow}"));
    Err(Error::conflict(format!("{MOST_STANDING} calls are {done} {workflow} for good, and its record keeps no more"), hint))
}
