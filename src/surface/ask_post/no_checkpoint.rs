//! The warning that the process which gets the answer will know nothing but the question.

use crate::id::WorkflowId;
use crate::mailbox::{Mailbox, Question};
use crate::surface::program::{self, Context};

/// Warns of questions that are posted without a checkpoint where no session can be continued.
pub fn warn(mailbox: &Mailbox, context: &Context, asked: &[Question]) {
    let unknown = knows_nothing(mailbox, context, asked);
    let (whose, first) = match unknown[..] {
        [] => return,
        [one] => (one.to_string(), one),
        [first, ..] => (format!("{first} and {} more", unknown.len() - 1), first),
    };
    program::warn(&format!(
        "{whose}: there is no checkpoint, so the process that gets the answer will know only the question; save one: checkpoint save {first} --next-action TEXT"
    ));
}

#[cfg(feature = "relaunch")]
fn knows_nothing<'a>(mailbox: &Mailbox, context: &Context, asked: &'a [Question]) -> Vec<&'a WorkflowId> {
    let config = || context.config().unwrap_or_default();
    let knows_nothing = |q: &&Question| crate::run::claim::plan::knows_nothing(mailbox, config, q).unwrap_or(false);
    asked.iter().filter(knows_nothing).map(|question| &question.workflow_id).collect()
}

/// Without the `relaunch` feature it is not known how the next process begins.
#[cfg(not(feature = "relaunch"))]
fn knows_nothing<'a>(_mailbox: &Mailbox, _context: &Context, _asked: &'a [Question]) -> Vec<&'a WorkflowId> {
    Vec::new()
}
