//! The questions that wait, in the order of the inbox.

use std::cmp::Reverse;
use std::collections::HashSet;

use crate::{Folder, Mailbox, Question, QuestionDocument, Result, Time, WorkflowId, list, read_question, round};

/// One entry of the inbox: a pending question.
#[derive(Debug)]
pub struct Pending {
    /// The workflow that asks.
    pub workflow: WorkflowId,
    /// The question, or the error that says why it cannot be read.
    pub document: Result<QuestionDocument>,
}

/// Calls `row` with every pending question, and returns the results in the order of [`Rank`]: larger `priority` first, then the
/// oldest, and last the questions that wait for an event. Reads one document at a time, and keeps only the rows.
///
/// # Errors
/// [`Error::Io`](crate::error::Error::Io) if the folder cannot be read. A document that cannot be read is passed on as
/// [`Pending::document`].
pub fn pending<Row>(mailbox: &Mailbox, row: impl Fn(Pending) -> Row) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let pending = list::workflows(mailbox, Folder::Pending)?;
    // Only for these the file in `answered/` is read.
    let answered: HashSet<_> = list::workflows(mailbox, Folder::Answered)?.into_iter().collect();
    for workflow in pending {
        let pending = Pending { document: read_question::pending(mailbox, &workflow), workflow };
        if matches!(&pending.document, Err(e) if e.is_missing_file()) {
            continue;
        }
        // The next move of its workflow takes it away.
        let may_be_over = |question: &Question| question.closed.is_some() || answered.contains(&pending.workflow);
        if pending.document.as_ref().is_ok_and(|document| may_be_over(&document.typed) && round::is_over(mailbox, &document.typed)) {
            continue;
        }
        let key = (Rank::of_question(pending.document.as_ref().ok().map(|d| &d.typed)), pending.workflow.clone());
        rows.push((key, row(pending)));
    }
    rows.sort_by(|(one, _), (other, _)| one.cmp(other));
    Ok(rows.into_iter().map(|(_, row)| row).collect())
}

/// The order of questions in the inbox: larger `priority` first, then the oldest, and last the questions that wait for an event and
/// not for a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank(bool, Reverse<i32>, Option<Time>);

impl Rank {
    /// Returns the rank of a question. `None` stands for a question that cannot be read.
    pub fn of_question(question: Option<&Question>) -> Self {
        let waits = question.is_some_and(|q| q.until.is_some());
        Self(waits, Reverse(question.and_then(|q| q.priority).unwrap_or(0)), question.and_then(Question::asked_at))
    }
}
