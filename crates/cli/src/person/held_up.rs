//! The sentence for a person whose answer starts no agent for now.

use crate::program::{self, Context};
use askbox_mailbox::{Mailbox, Question};
use askbox_run::delivery::{self, HoldUp};

/// Says why nothing starts the agent of an answered question for now, with the command that changes it: see [`hold_up`].
#[must_use]
pub fn held_up(context: &Context, mailbox: &Mailbox, question: &Question) -> Option<String> {
    hold_up(context, mailbox, question).map(|hold_up| hold_up.sentence(&question.workflow_id))
}

/// The reason why nothing starts the agent of an answered question for now: see [`delivery::hold_up`].
#[must_use]
pub fn hold_up(context: &Context, mailbox: &Mailbox, question: &Question) -> Option<HoldUp> {
    let loaded = context.loaded().ok();
    delivery::hold_up(mailbox, loaded.as_deref().map(|loaded| &loaded.config), question)
}

/// Warns that the queue launches nothing: a person holds it, or the day's money is spent.
pub fn warn_of_queue(context: &Context, mailbox: &Mailbox) {
    let loaded = context.loaded().ok();
    if let Some(paused) = delivery::queue_paused(mailbox, loaded.as_deref().map(|loaded| &loaded.config)) {
        program::warn(&format!("{paused}; answers are kept"));
    }
}
