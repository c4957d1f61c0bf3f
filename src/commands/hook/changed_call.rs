//! Tells the model of a user's session what ran, after a call that its user has changed in the mailbox, and what the user says beside it.
//! Claude Code tells it only that the call was made.

use crate::commands::hook::event::Session;
use askbox_cli::program::Context;
use askbox_mailbox::{Mailbox, Outcome};
use askbox_run::asking::place;
use askbox_run::words::beside_allowance;

/// The words about the call that was just made. `None` if its user has changed nothing and says nothing.
pub(super) fn tell(event: &Session, context: &Context) -> Option<String> {
    let mailbox = Mailbox::locate(None).ok().filter(|path| path.symlink_metadata().is_ok()).and_then(|path| Mailbox::open(path).ok())?;
    let question = place::question_of_call(&mailbox, &event.cwd, &event.session_id, &event.tool_use_id)?;
    // Anybody who can write to the mailbox can write such a document.
    context.config().ok()?.answers.policy().judge(&question).ok()?;
    let answer = question.answer.as_ref()?;
    let editable = question.approval.as_ref()?.editable.as_ref()?;
    // Another hook, or the person at the terminal, may have been first.
    let is_what_ran = event.tool_input[editable.field.as_str()].as_str() == Some(answer.edited.as_ref().unwrap_or(&editable.text));
    let allows = answer.outcome == Outcome::Answered && is_what_ran;
    allows.then(|| beside_allowance(&event.tool_name, false, answer)).flatten()
}
