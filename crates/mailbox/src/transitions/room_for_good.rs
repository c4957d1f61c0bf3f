//! A decision about a tool call for good needs room in the workflow's record. Without it, the decision is refused: the person would not learn
//! later that it was kept for this one time only.

use crate::documents::answer::{Answer, AnswerValue};
use crate::documents::fields::approval::{ONCE, WORKFLOW};
use crate::documents::question::Question;
use crate::documents::workflow::{Grant, MOST_STANDING};
use crate::error::{Error, Result};
use crate::id::WorkflowId;
use crate::layout::Mailbox;
use crate::workflows;

/// Checks that the workflow's record can keep this reply, if it decides about a call for good.
///
/// # Errors
/// [`Error::Conflict`] if the record is full; the errors of reading it.
pub(super) fn check(mailbox: &Mailbox, workflow: &WorkflowId, question: &Question, reply: &Answer) -> Result<()> {
    let Some(approval) = &question.approval else { return Ok(()) };
    let allows = matches!(&reply.value, Some(AnswerValue::Text(word)) if word == WORKFLOW);
    if !allows && !reply.always {
        return Ok(());
    }
    let Some(record) = workflows::read(mailbox, workflow)?.map(|document| document.typed) else { return Ok(()) };
    let (all, done, once) = match allows {
        true => (&record.grants, "allowed to", ONCE),
        false => (&record.refusals, "refused to", "decline"),
    };
    let is_it = |standing: &Grant| standing.tool == approval.tool && standing.sha256 == approval.sha256;
    if all.len() < MOST_STANDING || all.iter().any(is_it) {
        return Ok(());
    }
    let hint = (format!("decide this call alone (`{once}`), or take some back"), format!("relaunch approve --list {workflow}"));
    Err(Error::conflict(format!("{MOST_STANDING} calls are {done} {workflow} for good, and its record keeps no more"), hint))
}
