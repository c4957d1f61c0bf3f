//! A question in the mailbox beside a dialog that is open somewhere else. Only the process that holds it takes its answer.

use std::time::Duration;

use crate::approval::ask;
use crate::asking::end::{ASKS_AGAIN, End};
use crate::asking::hold::{Held, Look};
use crate::asking::orphans;
use crate::claim::inline;
use askbox_mailbox::programs::Facts;
use askbox_mailbox::transitions::post::IfPending;
use askbox_mailbox::{Error, Folder, Mailbox, Policy, QuestionDocument, Result, disk, list, read_question};

/// A question beside a dialog, with the lock of its waiter.
#[derive(Debug)]
pub struct Posted {
    held: Held,
    /// The name of this process in the rounds that it ends.
    by: &'static str,
}

impl Posted {
    /// Takes the lock of a waiter, and posts the question. If an answer to the same call was sent before and its end is not known, the question
    /// says that the call may have run. `None` if another process, or another request, asks for the same workflow.
    ///
    /// If the session asks again, this first ends what a process that was killed has left of the same question: an answer that it sent has
    /// not reached the session.
    ///
    /// # Errors
    /// Those of a post. [`Error::Held`] if another process keeps a lock.
    pub fn post(mailbox: &Mailbox, mut document: QuestionDocument, facts: &Facts) -> Result<Option<Self>> {
        let (workflow, by) = (document.typed.workflow_id.clone(), facts.by);
        if facts.asks_again {
            orphans::end_waiting(mailbox, &workflow)?;
            orphans::end_answered(mailbox, &workflow)?;
        }
        let waiter = match inline::begin(mailbox, &workflow) {
            Err(Error::Conflict { .. }) => return Ok(None),
            other => other?,
        };
        if facts.asks_again
            && let Some(claim) = orphans::sent(mailbox, &workflow)?
        {
            claim.superseded(mailbox, by, ASKS_AGAIN)?;
        }
        for round in list::round_names(mailbox, Folder::Running) {
            if let Ok(earlier) = read_question::of_round(&mailbox.round(Folder::Running, &round), &round) {
                ask::say_if_allowed(&mut document.typed, &earlier.typed);
            }
        }
        document.update()?;
        Ok(Some(Self { held: waiter.post(mailbox, document, &[], IfPending::Conflict)?, by }))
    }

    /// Looks for an answer, and claims it. A question that somebody has put in its place by hand counts as a change.
    ///
    /// # Errors
    /// If the answer is there and cannot be claimed now.
    pub fn look(&self, mailbox: &Mailbox, policy: &Policy) -> Result<Look> {
        let is_there = |folder| disk::exists(mailbox.document(folder, &self.held.round().workflow));
        if !is_there(Folder::Answered) && is_there(Folder::Pending) {
            return Ok(Look::Waits);
        }
        Ok(match self.take(mailbox, policy)? {
            // While this process holds the lock of the waiter, no other process takes the answer to the other question.
            Look::Waits if self.is_displaced(mailbox) => Look::Changed,
            look => look,
        })
    }

    /// True if the answer that lies there is to another question.
    fn is_displaced(&self, mailbox: &Mailbox) -> bool {
        let answered = read_question::answered(mailbox, &self.held.round().workflow);
        answered.is_ok_and(|document| document.typed.question_id.is_some_and(|id| id != self.held.round().question))
    }

    /// Withdraws the question, because its dialog has ended in this way. If it was answered just now, the answer came too late.
    ///
    /// # Errors
    /// If the question stays. Once this is dropped, a watcher withdraws it.
    pub fn withdraw(&self, mailbox: &Mailbox, policy: &Policy, how: &str) -> Result<()> {
        let Err(e) = self.held.withdraw(mailbox, self.by, how) else { return Ok(()) };
        match self.take(mailbox, policy)? {
            Look::Answered(claim) => End::too_late(how).close(*claim, mailbox, self.by),
            Look::Changed | Look::Ended(_) => Ok(()),
            Look::Waits => Err(e),
        }
    }

    fn take(&self, mailbox: &Mailbox, policy: &Policy) -> Result<Look> {
        self.held.look(mailbox, policy, Duration::ZERO, &|| false)
    }
}
