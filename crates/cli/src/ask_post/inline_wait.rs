//! `ask-post --wait`: waits for the answer and takes it over if it comes in time.

use std::time::Duration;

use crate::program::Context;
use askbox_mailbox::error::{Error, Result};
use askbox_mailbox::id::WorkflowId;
use askbox_mailbox::transitions::post::Receipt;
use askbox_mailbox::{Answer, Mailbox, Question};

use askbox_mailbox::id::RoundId;
use askbox_mailbox::{Folder, read_question};
use askbox_run::claim::inline;

/// The right to an answer. It is taken before its question is posted.
pub type Waiter = inline::Waiter;

/// Keeps every watcher from claiming the answer to the question that is about to be posted.
///
/// # Errors
/// [`Error::Conflict`] if another process waits already.
pub fn begin(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<Waiter> {
    inline::begin(mailbox, workflow)
}

/// The outcome of a wait.
#[derive(Debug)]
pub enum Waited<T> {
    /// The answer was handed over.
    Done(T),
    /// Somebody changed the question after it was posted, and answered the changed question: ask again.
    Changed,
    /// No answer came in time. The question stays pending.
    InVain,
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
    match waiter.wait(mailbox, &policy, &inline::Asked::of_receipt(receipt)?, patience)? {
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

fn ended<T>(mailbox: &Mailbox, round: &RoundId) -> Result<Waited<T>> {
    let Ok(document) = read_question::document(&mailbox.round(Folder::Closed, round)) else { return Ok(Waited::InVain) };
    let how = document.typed.closed.map_or("is over", |c| c.state.in_a_sentence());
    Err(Error::conflict(
        format!("the question of {} {how}; there will be no answer", round.workflow),
        "continue without the answer, or ask again",
    ))
}
