//! The sentence for a person whose answer starts no agent for now.

use crate::program::{self, Context};
use askbox_mailbox::{Mailbox, Question};
use askbox_run::story::cause::HoldUp;
use askbox_run::story::{Cause, Teller};

/// Says why nothing starts the agent of an answered question for now, with the command that changes it: see [`Teller::after_answer`].
pub fn held_up(context: &Context, mailbox: &Mailbox, question: &Question) -> Option<String> {
    hold_up(context, mailbox, question).map(|hold_up| hold_up.sentence(&question.workflow_id))
}

/// The reason why nothing starts the agent of an answered question for now: see [`Teller::after_answer`].
pub fn hold_up(context: &Context, mailbox: &Mailbox, question: &Question) -> Option<HoldUp> {
    Teller::new(mailbox, context.loaded()).after_answer(question)
}

/// Warns that nothing is launched by itself, whatever is answered: the disk is full, the queue is paused, the watcher is stopped. That no watcher
/// runs is told with an answer.
pub fn warn_of_queue(teller: &Teller<'_>) {
    if let Some(hold_up) = teller.general().iter().find(|hold_up| hold_up.cause != Cause::NoWatcher) {
        program::warn(&format!("{}; answers are kept", hold_up.words()));
    }
}
