//! The transition `pending/` → `answered/`: an answer is accepted.
//!
//! Under the workflow's lock:
//! 1. remove what a power cut brought back to `answered/`; settle the workflow; check the round and the value;
//! 2. write the answered document under a temporary name;
//! 3. write `user_answer` into the workflow's checkpoints, durably;
//! 4. link the document to `answered/WORKFLOW.json`, never replacing: **the commit point**. It decides every race;
//! 5. retire the copy in `pending/` (see [`crate::mailbox::transitions::retire`]); remove the question's timers.
//!
//! An answer that is signed is checked and signed before that, without the lock: somebody may have to touch a token. Under the lock it must
//! still be the answer to this very question.
//!
//! If the program dies before step 4, nothing was accepted. If it dies after it, [`crate::mailbox::transitions::settle`] does step 5.

use crate::disk::{self, Placed};
use crate::error::{Error, Result};
use crate::id::{QuestionId, RoundId, WorkflowId};
use crate::mailbox::audit::{self, Entry};
use crate::mailbox::checkpoints::user_answer;
use crate::mailbox::documents::answer::{Answer, BY_EVENT};
use crate::mailbox::documents::checks::check_answer;
use crate::mailbox::documents::question::{MAX_ANSWERED, Question};
use crate::mailbox::due::timers;
use crate::mailbox::layout::{Folder, Mailbox, WorkflowLock};
use crate::mailbox::listing::near_id;
use crate::mailbox::transitions::{answered_by_hand, late_answer, retire, settle};
use crate::mailbox::who::answerer::Answerer;
use crate::mailbox::{read_question, round};

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

/// Answers (or declines) the pending question of `workflow`. With `expect`, only that round is answered, so an answer to a
/// question that has been replaced meanwhile is refused. The reply is one that `answerer` made.
///
/// # Errors
/// [`Error::NotFound`] if nothing is pending, [`Error::Conflict`] if another answer was first, [`Error::Invalid`] if the value
/// does not fit.
pub fn answer(
    mailbox: &Mailbox,
    workflow: &WorkflowId,
    expect: Option<QuestionId>,
    reply: Answer,
    answerer: &Answerer,
) -> Result<Accepted> {
    let signed = signed(mailbox, workflow, expect, answerer, |_| Ok(reply.clone()))?;
    let lock = mailbox.lock(workflow)?;
    let accepted = match signed {
        Some(signed) => answer_locked(mailbox, &lock, expect, answerer, |question| signed.to(question))?,
        None => answer_locked(mailbox, &lock, expect, answerer, |_| Ok(reply.clone()))?,
    };
    accepted.ok_or_else(|| nothing_pending(mailbox, workflow, expect, reply))
}

/// [`answer`] with a reply that `reply` makes from the question. The workflow's lock is held meanwhile, so the question cannot
/// change. `None` if nothing is pending.
///
/// # Errors
/// Those of [`answer`] and of `reply`.
pub fn answer_pending(
    mailbox: &Mailbox,
    workflow: &WorkflowId,
    expect: Option<QuestionId>,
    answerer: &Answerer,
    reply: impl FnOnce(&Question) -> Result<Answer>,
) -> Result<Option<Accepted>> {
    if !answerer.signs() {
        return answer_locked(mailbox, &mailbox.lock(workflow)?, expect, answerer, reply);
    }
    match signed(mailbox, workflow, expect, answerer, reply)? {
        Some(signed) => answer_locked(mailbox, &mailbox.lock(workflow)?, expect, answerer, |question| signed.to(question)),
        None => Ok(None),
    }
}

/// A signed answer, and the question for which it was signed.
struct Signed {
    answer: Answer,
    question: Question,
}

impl Signed {
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

/// The complete and signed answer to the pending question; `None` if nothing is pending, or if this answerer does not sign.
fn signed(
    mailbox: &Mailbox,
    workflow: &WorkflowId,
    expect: Option<QuestionId>,
    answerer: &Answerer,
    reply: impl FnOnce(&Question) -> Result<Answer>,
) -> Result<Option<Signed>> {
    if !answerer.signs() {
        return Ok(None);
    }
    let mut question = match read_question::pending(mailbox, workflow) {
        Ok(document) => document.typed,
        Err(e) if e.is_missing_file() => return Ok(None),
        Err(e) => return Err(e),
    };
    let round = round::of_pending(mailbox, &question)?;
    is_expected(&round, expect)?;
    question.question_id = Some(round.question);
    let reply = check_answer::check(&question, reply(&question)?, answerer.given())?;
    let reply = Answer { question_hash: Some(question.hash()?), ..reply };
    let answer = answerer.signed(&question, reply)?;
    Ok(Some(Signed { answer, question }))
}

fn answer_locked(
    mailbox: &Mailbox,
    lock: &WorkflowLock,
    expect: Option<QuestionId>,
    answerer: &Answerer,
    reply: impl FnOnce(&Question) -> Result<Answer>,
) -> Result<Option<Accepted>> {
    let workflow = lock.workflow();
    answered_by_hand::clear_brought_back(mailbox, lock)?;
    let mut document = match settle::settled_pending(mailbox, lock) {
        Ok(document) => document,
        // The question was moved to answered/ by hand, and this is its answer.
        Err(e) if e.is_missing_file() && answered_by_hand::take_back(mailbox, lock)? => read_question::pending(mailbox, workflow)?,
        Err(e) if e.is_missing_file() => return Ok(None),
        Err(e) => return Err(e),
    };
    let round = round::of_pending(mailbox, &document.typed)?;
    is_expected(&round, expect)?;
    document.typed.question_id = Some(round.question);
    let reply = check_answer::check(&document.typed, reply(&document.typed)?, answerer.given())?;
    let question_hash = Some(document.typed.hash()?);
    let entry = Entry::of(reply.event(), &round).answer(&document.typed, &reply).by(&reply.by).why(reply.means());
    let target = mailbox.document(Folder::Answered, workflow);
    // Before the checkpoint is changed: it still holds the earlier answer.
    if disk::exists(&target) {
        return Err(earlier_answer_waits(mailbox, &round));
    }
    let reply = Answer { question_hash, ..reply };
    document.set_field("question_id", &round.question)?;
    document.set_field("answer", &reply)?;
    // Before the checkpoint is changed: a full disk is noticed while nothing has changed yet.
    let staged = disk::stage(&target, &document.to_file_within(MAX_ANSWERED)?)?;
    let mut written = user_answer::write(mailbox, &document, &round, &reply);
    let mut warning = written.warning.take();
    match staged.place() {
        Ok(Placed::Done) => {}
        other => {
            // The answer was not accepted, so the checkpoints must not hold it.
            written.undo();
            return Err(other.map_or_else(|e| e, |_| earlier_answer_waits(mailbox, &round)));
        }
    }
    if let Err(e) = retire::retire_pending(mailbox, &round, reply.at) {
        warning.get_or_insert(format!("the answer is safe, but its question stays in pending/ until the next look: {e}"));
    }
    timers::disarm(mailbox, &document.typed, &round);
    audit::record(mailbox, entry);
    Ok(Some(Accepted { round, question: document.typed, answer: reply, warning }))
}

fn is_expected(round: &RoundId, expect: Option<QuestionId>) -> Result<()> {
    let Some(expected) = expect.filter(|e| *e != round.question) else { return Ok(()) };
    Err(Error::conflict(
        format!("{} asks another question by now (round {}, not {expected})", round.workflow, round.question),
        format!("see it with: ask-answer show {}", round.workflow),
    ))
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
fn nothing_pending(mailbox: &Mailbox, workflow: &WorkflowId, expect: Option<QuestionId>, reply: Answer) -> Error {
    let Some(last) = round::latest(mailbox, workflow) else {
        let meant = near_id::did_you_mean(mailbox, workflow);
        return Error::not_found(format!("no question of {workflow} is pending"), format!("{meant}list the questions: ask-answer list"));
    };
    let first = last.document.typed.answer.as_ref();
    let hint = format!("see it with: ask-answer show {workflow}");
    if let Some(first) = first.filter(|a| a.is_a_persons()) {
        return Error::conflict(format!("the question of {workflow} was already {}", first.who()), hint);
    }
    if let Some(expected) = expect.filter(|e| *e != last.id.question) {
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
