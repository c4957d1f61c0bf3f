//! `ask-post --wait`: waits for the answer and takes it over if it comes in time.

use std::time::Duration;

use crate::error::{Error, Result};
use crate::id::WorkflowId;
use crate::mailbox::transitions::post::Receipt;
use crate::mailbox::{Answer, Mailbox, Question};
use crate::surface::program::Context;

#[cfg(feature = "relaunch")]
use crate::id::RoundId;
#[cfg(feature = "relaunch")]
use crate::mailbox::{Folder, read_question};
#[cfg(feature = "relaunch")]
use crate::run::claim::inline;

/// The right to an answer, taken before its question is posted.
#[cfg(feature = "relaunch")]
pub type Waiter = inline::Waiter;
/// Without the `relaunch` feature nothing can be claimed, so there is no waiter.
#[cfg(not(feature = "relaunch"))]
#[derive(Debug)]
pub enum Waiter {}

/// Keeps every watcher from claiming the answer to the question that is about to be posted.
///
/// # Errors
/// [`Error::Conflict`] where another process waits already.
#[cfg(feature = "relaunch")]
pub fn begin(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<Waiter> {
    inline::begin(mailbox, workflow)
}

/// Without the `relaunch` feature nothing can be claimed.
#[cfg(not(feature = "relaunch"))]
pub fn begin(_mailbox: &Mailbox, _workflow: &WorkflowId) -> Result<Waiter> {
    Err(Error::failed(
        "this ask-post was built without `relaunch`, so it cannot wait",
        "leave out --wait: the answer then reaches the next process",
    ))
}

/// What came of a wait.
#[derive(Debug)]
#[cfg_attr(not(feature = "relaunch"), expect(dead_code, reason = "nothing waits without that feature"))]
pub enum Waited<T> {
    /// The answer was handed over.
    Done(T),
    /// Somebody has changed the question after it was posted, and answered that: ask anew.
    Changed,
    /// No answer came in time; the question stays pending.
    InVain,
}

/// Waits for the answer to a question that was posted, claims it so that no agent is relaunched, and hands it over. The round is delivered once
/// `hand_over` has succeeded. If this process is killed before that, a watcher relaunches the agent.
///
/// # Errors
/// [`Error::Conflict`] where the round ended without an answer.
#[cfg(feature = "relaunch")]
pub fn wait<T>(
    waiter: &Waiter,
    context: &Context,
    mailbox: &Mailbox,
    receipt: &Receipt,
    patience: Duration,
    hand_over: impl FnOnce(&Question, &Answer) -> Result<T>,
) -> Result<Waited<T>> {
    // The asker's own file keeps nobody from waiting; what an agent's command reads is no wall anyway.
    let policy = context.config().unwrap_or_default().answers.policy();
    match waiter.wait(mailbox, &policy, &inline::Asked::of(receipt)?, patience)? {
        inline::Waited::Answered(claim) => {
            let Some(answer) = claim.document.typed.answer.clone() else { return Ok(Waited::InVain) };
            let done = hand_over(&claim.document.typed, &answer)?;
            claim.delivered(mailbox, "ask-post --wait")?;
            Ok(Waited::Done(done))
        }
        inline::Waited::Changed => Ok(Waited::Changed),
        inline::Waited::Nothing => ended(mailbox, &receipt.round),
    }
}

/// Without the `relaunch` feature there is no waiter.
#[cfg(not(feature = "relaunch"))]
pub fn wait<T>(
    waiter: &Waiter,
    _context: &Context,
    _mailbox: &Mailbox,
    _receipt: &Receipt,
    _patience: Duration,
    _hand_over: impl FnOnce(&Question, &Answer) -> Result<T>,
) -> Result<Waited<T>> {
    match *waiter {}
}

#[cfg(feature = "relaunch")]
fn ended<T>(mailbox: &Mailbox, round: &RoundId) -> Result<Waited<T>> {
    let Ok(document) = read_question::document(&mailbox.round(Folder::Closed, round)) else { return Ok(Waited::InVain) };
    let how = document.typed.closed.map_or("closed", |c| c.state.word());
    Err(Error::conflict(
        format!("the question of {} was {how}; there will be no answer", round.workflow),
        "continue without the answer, or ask again",
    ))
}
