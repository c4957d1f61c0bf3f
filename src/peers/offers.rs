//! Offers under way, and what became of them.

use std::collections::VecDeque;

use uuid::Uuid;

use crate::mailbox::documents::offer::Verdict;
use crate::peers::peer::{NotOffered, Offered, Problem};

/// How many offers are remembered.
const REMEMBERED: usize = 1000;

/// What is known of an offer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// It is being offered.
    UnderWay,
    /// It is on its way, durably; its machine has not decided yet.
    Sent,
    /// Its machine has decided.
    Decided(Verdict),
    /// It never reached its machine, and counts nowhere.
    NotSent(Problem),
    /// It may have reached its machine, which did not say so. Whether it counts is not known: nobody may say that it does, or that it does not.
    Unconfirmed(Problem),
}

impl Progress {
    /// Whether it is still going to change by itself.
    #[must_use]
    pub fn is_open(&self) -> bool {
        matches!(self, Self::UnderWay | Self::Sent)
    }

    pub(super) fn of(result: Result<Offered, NotOffered>) -> Self {
        match result {
            Ok(Offered::Decided(verdict)) => Self::Decided(verdict),
            Ok(Offered::Sent) => Self::Sent,
            Err(NotOffered { problem, may_have_arrived: false }) => Self::NotSent(problem),
            Err(NotOffered { problem, may_have_arrived: true }) => Self::Unconfirmed(problem),
        }
    }
}

/// The offers of this process.
#[derive(Debug, Default)]
pub(super) struct Offers(VecDeque<(Uuid, Progress)>);

impl Offers {
    pub(super) fn set(&mut self, offer: Uuid, progress: Progress) {
        match self.0.iter_mut().find(|(id, _)| *id == offer) {
            // A verdict is final.
            Some((_, Progress::Decided(_))) => {}
            Some((_, known)) => *known = progress,
            None => self.0.push_back((offer, progress)),
        }
        while self.0.len() > REMEMBERED {
            self.0.pop_front();
        }
    }

    pub(super) fn get(&self, offer: Uuid) -> Option<Progress> {
        self.0.iter().find(|(id, _)| *id == offer).map(|(_, progress)| progress.clone())
    }
}
