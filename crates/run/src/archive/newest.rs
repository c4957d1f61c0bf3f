//! The archived rounds, the newest first, in bounded memory. A month is read when its turn comes.

use std::iter::Peekable;

use askbox_mailbox::listing::newest_first::NewestFirst;
use askbox_mailbox::{Mailbox, Result, Time, WorkflowId};

use crate::archive::{ArchivedRound, month_of, months, rounds_of};

type OfMonth = Box<dyn Iterator<Item = Result<ArchivedRound>>>;

/// The archived rounds, the newest first.
pub struct NewestArchived {
    mailbox: Mailbox,
    workflow: Option<WorkflowId>,
    since: Option<Time>,
    wanted: Option<usize>,
    /// The months to come, ascending.
    months: Vec<String>,
    opened: Option<Peekable<OfMonth>>,
}

impl NewestArchived {
    /// Finds the rounds of one workflow, or of all, that ended at or after `since`. `wanted` is about how many the caller will use.
    ///
    /// # Errors
    /// [`Error::Io`](askbox_mailbox::error::Error::Io) if the folder of the archives cannot be read.
    pub fn find(mailbox: &Mailbox, workflow: Option<&WorkflowId>, since: Option<Time>, wanted: Option<usize>) -> Result<Self> {
        let mut months = months(mailbox)?;
        months.retain(|month| since.is_none_or(|since| *month >= month_of(since)));
        Ok(Self { mailbox: mailbox.clone(), workflow: workflow.cloned(), since, wanted, months, opened: None })
    }

    /// The next round. `None` if there is none, or none that can be newer than `after`. In that case no month is opened.
    pub fn peek(&mut self, after: Option<Time>) -> Option<&Result<ArchivedRound>> {
        while self.opened.as_mut().is_none_or(|opened| opened.peek().is_none()) {
            let month = self.months.pop_if(|month| after.is_none_or(|after| *month >= month_of(after)))?;
            self.opened = Some(self.open(month).peekable());
        }
        self.opened.as_mut()?.peek()
    }

    fn open(&self, month: String) -> OfMonth {
        let (mailbox, workflow, since) = (self.mailbox.clone(), self.workflow.clone(), self.since);
        Box::new(NewestFirst::new(self.wanted, move |offer: &mut dyn FnMut(ArchivedRound)| {
            for round in rounds_of(&mailbox, &month, workflow.as_ref())? {
                Some(round?).filter(|round| since.is_none_or(|since| round.closed >= since)).into_iter().for_each(&mut *offer);
            }
            Ok(())
        }))
    }
}

impl Iterator for NewestArchived {
    type Item = Result<ArchivedRound>;

    fn next(&mut self) -> Option<Self::Item> {
        self.peek(None)?;
        self.opened.as_mut()?.next()
    }
}
