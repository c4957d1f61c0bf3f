//! `ask-post --wait`: waits for the answer and takes it over if it comes in time.

use std::time::Duration;

use crate::ask_post::hearer::OutputHearer;
use crate::program::Context;
use askbox_mailbox::error::{Error, Result};
use askbox_mailbox::id::{RoundId, WorkflowId};
use askbox_mailbox::transitions::post::{self, IfPending, Receipt};
use askbox_mailbox::{Answer, AttachedFile, Folder, Mailbox, Question, QuestionDocument, read_question};
use askbox_run::claim::heard::{self, Sign};
use askbox_run::claim::inline::{self, Hearer};
use askbox_run::claim::{Claim, OnRecord};
use askbox_run::recovery::of_asker;

/// The process that the round's end names.
const CHANNEL: &str = "ask-post --wait";
/// How often a post is tried while other processes take the answers to the same question.
const TRIES: u32 = 3;

/// The right to an answer, and the one who hears it. It is taken before its question is posted.
#[derive(Debug)]
pub struct Waiter {
    lock: inline::Waiter,
    hearer: OutputHearer,
}

/// Keeps every watcher from claiming the answer to the question that is about to be posted.
///
/// # Errors
/// [`Error::Conflict`] if another process waits already.
pub fn begin(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<Waiter> {
    let hearer = OutputHearer::find();
    Ok(Waiter { lock: inline::begin(mailbox, workflow)?, hearer })
}

impl Waiter {
    /// Hands the claimed answer over. The round stays claimed until the agent has heard it: if it has ended meanwhile, a watcher launches an
    /// agent with the answer.
    fn hand_over<T>(&self, mailbox: &Mailbox, claim: Claim<OnRecord>, hand_over: impl FnOnce() -> Result<T>) -> Result<T> {
        if self.hearer.is_gone() {
            return Err(nobody_hears(&claim.round()));
        }
        let done = hand_over()?;
        if self.hearer.has_no_agent_any_more() {
            return Err(nobody_hears(&claim.round()));
        }
        match self.hearer.agent() {
            Some(agent) if heard::note_given(mailbox, &claim.document.typed, &claim.run, agent, Sign::AnyResult)? => {}
            _ => claim.delivered(mailbox, CHANNEL)?,
        }
        Ok(done)
    }
}

fn nobody_hears(round: &RoundId) -> Error {
    Error::failed(format!("the agent that asked {} has ended", round.workflow), "nothing: a watcher launches an agent with the answer")
}

/// The outcome of a wait.
#[derive(Debug)]
pub enum Waited<T> {
    /// The answer was handed over.
    Done(T),
    /// Somebody changed the question after it was posted, and answered the changed question: ask again.
    Changed,
    /// No answer came in time, or nobody would hear it any more. The question stays pending, or its answer is the watcher's.
    InVain,
}

/// The outcome of a post by a process that waits.
#[derive(Debug)]
pub enum Posted<T> {
    /// The question is pending.
    Pending(Box<Receipt>),
    /// The same question was answered before, and the answer is handed over.
    Done(T),
}

/// Posts a question. If an earlier process has asked the same and has not lived to hear the answer, that answer is passed to `hand_over`
/// instead, as [`wait`] does.
///
/// # Errors
/// Those of [`post::post_with_files`].
pub fn post<T>(
    waiter: &Waiter,
    context: &Context,
    mailbox: &Mailbox,
    (document, files): (&QuestionDocument, &[AttachedFile]),
    if_pending: IfPending,
    hand_over: impl FnOnce(&RoundId, &Question, &Answer) -> Result<T>,
) -> Result<Posted<T>> {
    let policy = context.config().unwrap_or_default().answers.policy();
    let mut claim = of_asker::left_behind(mailbox, &document.typed)?;
    for _ in 0..TRIES {
        if claim.is_some() {
            break;
        }
        match post::post_unless_answered(mailbox, document.clone(), files, if_pending)? {
            post::Posted::Pending(receipt) => return Ok(Posted::Pending(receipt)),
            // If the answer does not count, its question waits again.
            post::Posted::Answered(round) => claim = waiter.lock.take(mailbox, &policy, &round)?,
        }
    }
    let taken = claim.and_then(|claim| claim.document.typed.answer.clone().map(|answer| (claim, answer)));
    let Some((claim, answer)) = taken else {
        return Ok(Posted::Pending(Box::new(post::post_with_files(mailbox, document.clone(), files, if_pending)?)));
    };
    let (round, question) = (claim.round(), claim.document.typed.clone());
    waiter.hand_over(mailbox, claim, || hand_over(&round, &question, &answer)).map(Posted::Done)
}

/// Waits for the answer to a posted question, claims the answer so that no agent is relaunched, and passes it to `hand_over`. The round is
/// delivered once `hand_over` has succeeded. If this process is killed before that, a watcher relaunches the agent.
///
/// # Errors
/// [`Error::Conflict`] if the round ended without an answer.
pub fn wait<T>(
    waiter: &Waiter,
    context: &Context,
    mailbox: &Mailbox,
    receipt: &Receipt,
    patience: Duration,
    hand_over: impl FnOnce(&Question, &Answer) -> Result<T>,
) -> Result<Waited<T>> {
    // A broken configuration must not stop the asker from waiting, so the default policy is used. The policy need not protect anything
    // here: an agent controls what its own commands read.
    let policy = context.config().unwrap_or_default().answers.policy();
    match waiter.lock.wait(mailbox, &policy, &inline::Asked::of_receipt(receipt)?, patience, &waiter.hearer)? {
        inline::Waited::Answered(claim) => {
            let Some(answer) = claim.document.typed.answer.clone() else { return Ok(Waited::InVain) };
            let question = claim.document.typed.clone();
            waiter.hand_over(mailbox, *claim, || hand_over(&question, &answer)).map(Waited::Done)
        }
        inline::Waited::Changed => Ok(Waited::Changed),
        inline::Waited::Nothing => ended(mailbox, &receipt.round),
    }
}

fn ended<T>(mailbox: &Mailbox, round: &RoundId) -> Result<Waited<T>> {
    let Ok(document) = read_question::document(&mailbox.round(Folder::Closed, round)) else { return Ok(Waited::InVain) };
    let how = document.typed.closed.map_or("is over", |c| c.state.in_a_sentence());
    Err(Error::conflict(
        format!("the question of {} {how}; there will be no answer", round.workflow),
        "continue without the answer, or ask again",
    ))
}
