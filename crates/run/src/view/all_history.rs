//! The rounds of the mailbox and of the archive together, the newest first.
//!
//! While a round is archived, it is in both places for a moment: first in the mailbox, then in both, then in the archive. It is shown once.

use std::iter::Peekable;

use crate::archive::{ArchivedRound, NewestArchived};
use crate::story::Teller;
use crate::view::archived::Archived;
use crate::view::history::{self, HistoryEntry};
use askbox_mailbox::overview::past_rounds::{self, PastRound};
use askbox_mailbox::{QuestionId, Result, RoundId, Time, WorkflowId, round};

/// The rounds that were answered or are over, the newest first.
pub struct AllHistory<'a> {
    teller: &'a Teller<'a>,
    here: Peekable<Box<dyn Iterator<Item = Result<PastRound>> + 'a>>,
    archived: NewestArchived,
    /// The round that was returned last, if it is over.
    last: Option<ArchivedRound>,
}

impl<'a> AllHistory<'a> {
    /// The rounds of one workflow, or of all, that changed at or after `since`. `wanted` is about how many the caller will use.
    ///
    /// # Errors
    /// If the folder of the archives cannot be read.
    pub fn find(teller: &'a Teller<'a>, workflow: Option<&'a WorkflowId>, since: Option<Time>, wanted: Option<usize>) -> Result<Self> {
        let mailbox = teller.mailbox();
        let here: Box<dyn Iterator<Item = Result<PastRound>> + 'a> = Box::new(past_rounds::newest_first(mailbox, workflow, since, wanted));
        let archived = NewestArchived::find(mailbox, workflow, since, wanted)?;
        Ok(Self { teller, here: here.peekable(), archived, last: None })
    }

    /// The next round of the archive, if it is newer than the next one of the mailbox.
    fn archived_first(&mut self) -> Option<Result<ArchivedRound>> {
        // The mailbox is listed first. So a round that is archived in between is found at least once.
        let here = self.here.peek().map(Result::as_ref).transpose().ok()?;
        let first = self.archived.peek(here.map(PastRound::changed))?.as_ref();
        let is_first =
            first.map_or(true, |archived| here.is_none_or(|here| key(archived.closed, &archived.id()) > key(here.changed(), &here.id())));
        is_first.then(|| self.archived.next())?
    }

    /// The entry of an archived round. `None` if the round still lies in the mailbox, or was returned from there just now.
    fn of_archived(&mut self, found: &ArchivedRound) -> Result<Option<HistoryEntry>> {
        let id = found.id();
        let here = round::in_closed(self.teller.mailbox(), &id).and_then(|here| here.document.typed.closed);
        let is_here = here.is_some_and(|closed| ArchivedRound::new(&id, closed.at) == *found);
        if is_here || self.last.as_ref() == Some(found) {
            return Ok(None);
        }
        let round = Archived::read(self.teller.mailbox(), found)?;
        self.last = Some(found.clone());
        history::archived_entry(self.teller, round).map(Some)
    }
}

fn key(changed: Time, id: &RoundId) -> (Time, QuestionId, &str) {
    (changed, id.question, id.workflow.as_str())
}

impl Iterator for AllHistory<'_> {
    type Item = Result<HistoryEntry>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let entry = match self.archived_first() {
                Some(found) => found.and_then(|found| self.of_archived(&found)),
                None => self.here.next()?.and_then(|found| {
                    let entry = history::entry(self.teller, &found)?;
                    if let Some(entry) = &entry {
                        self.last = entry.closed.as_ref().map(|closed| ArchivedRound::new(&found.id(), closed.at));
                    }
                    Ok(entry)
                }),
            };
            match entry {
                Ok(Some(entry)) => return Some(Ok(entry)),
                // The round is gone, or was returned already.
                Ok(None) => {}
                Err(e) => return Some(Err(e)),
            }
        }
    }
}

impl std::fmt::Debug for AllHistory<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AllHistory").finish_non_exhaustive()
    }
}
