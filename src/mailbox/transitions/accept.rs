//! The transition `pending/` → `answered/`: a decision is accepted. **This is the one door**: every surface comes through it, and none has
//! rules of its own.
//!
//! Under the workflow's lock:
//! 1. remove what a power cut brought back to `answered/`; settle the workflow ([`Waiting::of`]);
//! 2. compare the round and what was shown; ask the caller whether it may decide; check the value ([`Waiting::decide`]);
//! 3. write the answered document under a temporary name;
//! 4. write `user_answer` into the workflow's checkpoints, durably;
//! 5. link the document to `answered/WORKFLOW.json`, never replacing: **the commit point**. It decides every race;
//! 6. retire the copy in `pending/` (see [`crate::mailbox::transitions::retire`]); remove the question's timers.
//!
//! An answer that is signed is checked and signed before that, without the lock: somebody may have to touch a token. Under the lock it must
//! still be the answer to this very question.
//!
//! If the program dies before step 5, nothing was accepted. If it dies after it, [`crate::mailbox::transitions::settle`] does step 6.

use uuid::Uuid;

use crate::disk::{self, Placed};
use crate::error::{Error, Result};
use crate::id::{QuestionId, RoundId, WorkflowId};
use crate::mailbox::audit::{self, Entry};
use crate::mailbox::checkpoints::user_answer;
use crate::mailbox::documents::answer::{Answer, BY_EVENT};
use crate::mailbox::documents::checks::check_answer::{self, Given};
use crate::mailbox::documents::fields::shown_hash::Shown;
use crate::mailbox::documents::question::{MAX_ANSWERED, Question, QuestionDocument};
use crate::mailbox::due::timers;
use crate::mailbox::layout::{Folder, Mailbox, WorkflowLock};
use crate::mailbox::listing::near_id;
use crate::mailbox::transitions::{answered_by_hand, late_answer, retire, settle};
use crate::mailbox::who::caller::Caller;
use crate::mailbox::{read_question, round};

/// On which question a decision was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum On {
    /// The question that waits now, whatever it is: nothing was shown. It allows no tool call.
    WhatWaits,
    /// This round, which the person named.
    Round(QuestionId),
    /// This round, exactly as it was shown.
    Shown(QuestionId, Shown),
    /// This round, as a program of an earlier version showed it: with the `question_hash` of its text.
    Text(QuestionId, Uuid),
}

impl On {
    /// The question of this round as it is now.
    ///
    /// # Errors
    /// If the question cannot be written as JSON.
    pub fn question(round: &RoundId, question: &Question) -> Result<Self> {
        Ok(Self::Shown(round.question, Shown::of(question)?))
    }

    /// The round, if the decision is about one.
    #[must_use]
    pub fn round(self) -> Option<QuestionId> {
        match self {
            Self::WhatWaits => None,
            Self::Round(id) | Self::Shown(id, _) | Self::Text(id, _) => Some(id),
        }
    }

    /// Whether the question that waits is the one that the decision was made on.
    fn check(self, round: &RoundId, question: &Question) -> Result<()> {
        let workflow = &round.workflow;
        if let Some(expected) = self.round().filter(|expected| *expected != round.question) {
            return Err(Error::conflict(
                format!("{workflow} asks another question by now (round {}, not {expected})", round.question),
                format!("see it with: ask-answer show {workflow}"),
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
    Error::conflict(
        format!("the question of {workflow} was changed while you read it"),
        format!("look at it again: ask-answer show {workflow}"),
    )
}

/// A decision: who makes it, and on what. Its value is an [`Answer`] that the caller makes.
#[derive(Debug, Clone, Copy)]
pub struct Decision<'a> {
    /// Who decides.
    pub caller: &'a Caller,
    /// On which question.
    pub on: On,
    /// How the value is meant.
    pub given: Given,
}

impl<'a> Decision<'a> {
    /// A decision of a person whose program can ask again.
    #[must_use]
    pub fn of(caller: &'a Caller, on: impl Into<On>) -> Self {
        Self { caller, on: on.into(), given: Given::ByPerson }
    }

    /// The same with values that are the person's own words, even if they are close to an option: the person was asked.
    #[must_use]
    pub fn in_own_words(self) -> Self {
        Self { given: Given::InOwnWords, ..self }
    }

    /// The reply in its normal form, if this decision may be made about this question.
    fn check(&self, round: &RoundId, question: &Question, reply: impl FnOnce(&Question) -> Result<Answer>) -> Result<Answer> {
        self.on.check(round, question)?;
        self.caller.may_decide(question)?;
        let reply = check_answer::check(question, reply(question)?, self.given)?;
        self.may_be_made(round.workflow.as_str(), question, &reply)?;
        Ok(reply)
    }

    /// Whether the caller may make this decision, and says on what. `address` names the question in the error.
    ///
    /// # Errors
    /// [`Error::Conflict`] if the caller may not; [`Error::Usage`] for a call that is allowed without a word about which one.
    pub fn may_be_made(&self, address: &str, question: &Question, reply: &Answer) -> Result<()> {
        self.caller.may_decide(question)?;
        if question.asked.approval.is_some() && reply.value.is_some() && self.on == On::WhatWaits {
            return Err(Error::usage(
                format!("{address} asks whether a tool call may be made, and this does not say which call you have seen"),
                format!("look at it; the last lines are the commands to copy: ask-answer show {address}"),
            ));
        }
        Ok(())
    }
}

/// An answer that was accepted.
#[derive(Debug)]
pub struct Accepted {
    /// The round it answers.
    pub round: RoundId,
    /// The question.
    pub question: Question,
    /// The answer in its normal form, as it lies in the mailbox.
    pub answer: Answer,
    /// What did not work beside it, such as writing the checkpoint. The answer is safe all the same.
    pub warning: Option<String>,
}

/// Answers, declines or asks back: the reply is one that the decision's caller made.
///
/// # Errors
/// [`Error::NotFound`] if nothing is pending; [`Error::Conflict`] if another answer was first, if the question is not the one that was shown, or
/// if the caller may not decide about it; [`Error::Invalid`] if the value does not fit.
pub fn answer(mailbox: &Mailbox, workflow: &WorkflowId, decision: Decision<'_>, reply: Answer) -> Result<Accepted> {
    let accepted = answer_pending(mailbox, workflow, decision, |_| Ok(reply.clone()))?;
    accepted.ok_or_else(|| nothing_pending(mailbox, workflow, decision, reply))
}

/// [`answer`] with a reply that is made from the question, under the workflow's lock: the question cannot change meanwhile. `None` if nothing is
/// pending.
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
        let Some(waiting) = Waiting::of(mailbox, mailbox.lock(workflow)?)? else { return Ok(None) };
        return waiting.decide(decision, reply)?.accept().map(Some);
    }
    let Some(signed) = Signed::of(mailbox, workflow, decision, reply)? else { return Ok(None) };
    let Some(waiting) = Waiting::of(mailbox, mailbox.lock(workflow)?)? else { return Ok(None) };
    waiting.decide(decision, |question| signed.to(question))?.accept().map(Some)
}

/// A signed answer, and the question for which it was signed.
struct Signed {
    answer: Answer,
    question: Question,
}

impl Signed {
    /// `None` if nothing is pending.
    fn of(
        mailbox: &Mailbox,
        workflow: &WorkflowId,
        decision: Decision<'_>,
        reply: impl FnOnce(&Question) -> Result<Answer>,
    ) -> Result<Option<Self>> {
        let mut question = match read_question::pending(mailbox, workflow) {
            Ok(document) => document.typed,
            Err(e) if e.is_missing_file() => return Ok(None),
            Err(e) => return Err(e),
        };
        let round = round::of_pending(mailbox, &question)?;
        question.question_id = Some(round.question);
        let reply = decision.check(&round, &question, reply)?;
        let reply = Answer { question_hash: Some(question.hash()?), ..reply };
        let answer = decision.caller.signed(&question, reply)?;
        Ok(Some(Self { answer, question }))
    }

    /// The answer, if this is still the very question.
    fn to(self, question: &Question) -> Result<Answer> {
        if *question == self.question {
            return Ok(self.answer);
        }
        let workflow = &question.workflow_id;
        Err(Error::conflict(
            format!("the question of {workflow} has changed while the answer was signed"),
            format!("see it, and answer it again: ask-answer show {workflow}"),
        ))
    }
}

/// The question that waits for an answer, under its workflow's lock: while this lives, nobody else changes it.
#[derive(Debug)]
#[must_use = "it holds the workflow's lock"]
pub struct Waiting<'a> {
    mailbox: &'a Mailbox,
    document: QuestionDocument,
    round: RoundId,
    lock: WorkflowLock,
}

/// A decision that may be made, with a value that fits. [`Decided::accept`] makes it the answer; dropped, it changes nothing.
#[derive(Debug)]
#[must_use = "nothing is answered before it is accepted"]
pub struct Decided<'a> {
    waiting: Waiting<'a>,
    answer: Answer,
}

impl<'a> Waiting<'a> {
    /// The question that waits in the workflow of this lock; `None` if there is none.
    ///
    /// # Errors
    /// If the mailbox cannot be read or settled.
    pub fn of(mailbox: &'a Mailbox, lock: WorkflowLock) -> Result<Option<Self>> {
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
    #[must_use]
    pub fn question(&self) -> &Question {
        &self.document.typed
    }

    /// The decision, if it may be made, with the reply that is made from the question: step 2.
    ///
    /// # Errors
    /// Those of [`answer`] and of `reply`.
    pub fn decide(self, decision: Decision<'_>, reply: impl FnOnce(&Question) -> Result<Answer>) -> Result<Decided<'a>> {
        let reply = decision.check(&self.round, &self.document.typed, reply)?;
        let question = &self.document.typed;
        let shown = match decision.on {
            On::Shown(_, shown) => shown,
            On::WhatWaits | On::Round(_) | On::Text(..) => Shown::of(question)?,
        };
        let answer = Answer { question_hash: Some(question.hash()?), shown: Some(shown), ..reply };
        Ok(Decided { waiting: self, answer })
    }
}

impl Decided<'_> {
    /// The question with the answer that it is to have.
    #[must_use]
    pub fn question(&self) -> Question {
        Question { answer: Some(self.answer.clone()), ..self.waiting.document.typed.clone() }
    }

    /// Steps 3 to 6: the decision becomes the answer.
    ///
    /// # Errors
    /// [`Error::Conflict`] if an earlier answer of the workflow still waits for its run; or if the mailbox cannot be written.
    pub fn accept(self) -> Result<Accepted> {
        // The lock is held until the end.
        let Self { waiting: Waiting { mailbox, mut document, round, lock }, answer } = self;
        let target = mailbox.document(Folder::Answered, lock.workflow());
        // Before the checkpoint is changed: it still holds the earlier answer.
        if disk::exists(&target) {
            return Err(earlier_answer_waits(mailbox, &round));
        }
        let entry = Entry::of(answer.event(), &round).answer(answer.question_hash, &answer).by(&answer.by).why(answer.means());
        document.set_field("question_id", &round.question)?;
        document.set_field("answer", &answer)?;
        // Before the checkpoint is changed: a full disk is noticed while nothing has changed yet.
        let staged = disk::stage(&target, &document.to_file_within(MAX_ANSWERED)?)?;
        let mut written = user_answer::write(mailbox, &document, &round, &answer);
        let mut warning = written.warning.take();
        match staged.place() {
            Ok(Placed::Done) => {}
            other => {
                // The answer was not accepted, so the checkpoints must not hold it.
                written.undo();
                return Err(other.map_or_else(|e| e, |_| earlier_answer_waits(mailbox, &round)));
            }
        }
        if let Err(e) = retire::retire_pending(mailbox, &round, answer.at) {
            warning.get_or_insert(format!("the answer is safe, but its question stays in pending/ until the next look: {e}"));
        }
        timers::disarm(mailbox, &document.typed, &round);
        audit::record(mailbox, entry);
        Ok(Accepted { round, question: document.typed, answer, warning })
    }
}

fn earlier_answer_waits(mailbox: &Mailbox, round: &RoundId) -> Error {
    let workflow = &round.workflow;
    let earlier = read_question::document(&mailbox.document(Folder::Answered, workflow));
    let who = earlier.ok().and_then(|d| d.typed.answer).map_or_else(|| "answered".into(), |a| a.who());
    Error::conflict(
        format!("an earlier answer of {workflow} ({who}) still waits for its run; the question of round {} stays open", round.question),
        format!(
            "start the watcher (relaunch watch) or run it now: relaunch {workflow}; if a process of yours has it: relaunch done {workflow}"
        ),
    )
}

/// The error for an answer to nothing: it says who answered first. A late answer is kept (see [`late_answer`]).
fn nothing_pending(mailbox: &Mailbox, workflow: &WorkflowId, decision: Decision<'_>, reply: Answer) -> Error {
    let Some(last) = round::latest(mailbox, workflow) else {
        let meant = near_id::did_you_mean(mailbox, workflow);
        return Error::not_found(format!("no question of {workflow} is pending"), format!("{meant}list the questions: ask-answer list"));
    };
    let first = last.document.typed.answer.as_ref();
    let hint = format!("see it with: ask-answer show {workflow}");
    if let Some(first) = first.filter(|a| a.is_a_persons()) {
        return Error::conflict(format!("the question of {workflow} was already {}", first.who()), hint);
    }
    if let Err(e) = decision.caller.may_decide(&last.document.typed) {
        return e;
    }
    if let Some(expected) = decision.on.round().filter(|expected| *expected != last.id.question) {
        return Error::conflict(
            format!("round {expected} of {workflow} is not its last one ({}); your answer is not kept", last.id.question),
            hint,
        );
    }
    // Keeping a late answer would change the file's time, by which the watcher recognizes an answer made by hand.
    if last.folder == Folder::Answered && first.is_none() {
        return Error::conflict(format!("the question of {workflow} was answered by hand, in its checkpoint"), hint);
    }
    // No person had answered when the round ended: this answer is late, not second.
    let ended = last.document.typed.closed.as_ref().map_or("over", |c| c.state.word());
    let ended = match first {
        Some(first) if first.by == BY_EVENT => "answered by the event that it waited for",
        Some(_) => "answered by the asker's default",
        None => ended,
    };
    let kept = match late_answer::keep(mailbox, &last, reply) {
        Ok(()) => "your answer is kept with it and nothing is run".to_owned(),
        Err(e) => format!("your answer could not be kept with it: {e}"),
    };
    Error::conflict(format!("the question of {workflow} was {ended} before you answered; {kept}"), hint)
}
