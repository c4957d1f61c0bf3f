//! The sentence for a person whose answer starts no agent for now.

use crate::program::{self, Context};
use askbox_mailbox::{Mailbox, Question};
use askbox_run::delivery;
use askbox_run::story::cause::{self, Cause, HoldUp};

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

/// Warns that nothing is launched by itself, whatever is answered: the disk is full, the queue is paused, the watcher is stopped. That no watcher
/// runs is told with an answer.
pub fn warn_of_queue(context: &Context, mailbox: &Mailbox) {
    let loaded = context.loaded().ok();
    let all = cause::all(mailbox, loaded.as_deref().map(|loaded| &loaded.config));
    if let Some(hold_up) = all.into_iter().find(|hold_up| hold_up.cause != Cause::NoWatcher) {
        program::warn(&format!("{}; answers are kept", hold_up.words()));
    }
}
