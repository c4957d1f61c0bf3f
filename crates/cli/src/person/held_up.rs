//! The sentence for a person whose answer starts no agent for now.

use crate::program::Context;
use askbox_mailbox::{Mailbox, Question};
use askbox_run::delivery;

/// Says why nothing starts the agent of an answered question for now, with the command that changes it: see [`delivery::held_up`].
#[must_use]
pub fn held_up(context: &Context, mailbox: &Mailbox, question: &Question) -> Option<String> {
    let loaded = context.loaded().ok();
    delivery::held_up(mailbox, loaded.as_deref().map(|loaded| &loaded.config), question)
}
