//! The questions that wait on this machine and on all others, in one order.

use std::sync::Arc;

use crate::known::HostView;
use crate::remote_question::RemoteQuestion;
use askbox_mailbox::overview::waiting::{self as questions, Pending, Rank};
use askbox_mailbox::{Address, Mailbox, Question, Result};

/// A question that waits somewhere.
pub enum WaitingQuestion<'a> {
    /// On this machine.
    Here(&'a Pending),
    /// On another one, with its document if it can be read.
    There(&'a HostView, &'a RemoteQuestion, Option<&'a Question>),
}

impl WaitingQuestion<'_> {
    /// The address of the question.
    pub fn address(&self) -> Address {
        match self {
            Self::Here(pending) => Address::here(pending.workflow.clone()),
            Self::There(_, question, _) => question.address(),
        }
    }

    /// The question, if it can be read.
    pub fn question(&self) -> Option<&Question> {
        match self {
            Self::Here(pending) => pending.document.as_ref().ok().map(|document| &document.typed),
            Self::There(_, _, question) => *question,
        }
    }
}

/// Applies `row` to every question, and returns the rows in order: larger `priority` first, then the oldest, on whichever machine.
/// Questions that do not wait for a person come last. One document is read at a time, and only the rows are kept.
///
/// # Errors
/// If the mailbox cannot be read.
pub fn all<Row>(mailbox: Option<&Mailbox>, hosts: &[HostView], row: impl Fn(WaitingQuestion<'_>) -> Row) -> Result<Vec<Row>> {
    let with_rank = |waiting: WaitingQuestion<'_>| ((Rank::of_question(waiting.question()), waiting.address()), row(waiting));
    let mut rows = match mailbox {
        Some(mailbox) => questions::pending(mailbox, |pending| with_rank(WaitingQuestion::Here(&pending)))?,
        None => Vec::new(),
    };
    for host in hosts {
        let there = |question: &Arc<RemoteQuestion>| {
            let document = question.document().ok();
            with_rank(WaitingQuestion::There(host, question, document.as_ref().map(|document| &document.typed)))
        };
        rows.extend(host.questions.iter().map(there));
    }
    rows.sort_by(|(one, _), (other, _)| one.cmp(other));
    Ok(rows.into_iter().map(|(_, row)| row).collect())
}
