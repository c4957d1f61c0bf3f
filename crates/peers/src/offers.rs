//! Offers under way, and their results. An offer that was not confirmed is kept, so that it can be made again. It counts once, however
//! often it comes.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use uuid::Uuid;

use crate::peer::Progress;
use askbox_mailbox::{HostName, Offer, RoundId, WorkflowId};

/// How many offers are remembered.
const REMEMBERED: usize = 1000;
/// How many offers that were not confirmed are kept.
const KEPT: usize = 200;
/// The pauses between two attempts to offer something again while a machine sends only signs of life: the first pause, and the longest.
const FIRST_PAUSE: Duration = Duration::from_secs(60);
const LONGEST_PAUSE: Duration = Duration::from_secs(15 * 60);

/// The offers of this process.
#[derive(Debug, Default)]
pub(super) struct Offers {
    all: VecDeque<KnownOffer>,
    /// The offers that were not confirmed, the oldest first.
    unconfirmed: VecDeque<(HostName, Offer)>,
    /// The last time that an offer was made again, by machine.
    again: HashMap<HostName, Again>,
}

#[derive(Debug)]
struct KnownOffer {
    id: Uuid,
    host: HostName,
    round: RoundId,
    progress: Progress,
}

#[derive(Debug)]
struct Again {
    is_under_way: bool,
    /// True if a report has asked for another attempt while one was under way.
    is_wanted: bool,
    begun: Instant,
    pause: Duration,
}

impl Offers {
    /// Begins an offer: for the first time, or once more by a person.
    pub(super) fn begin(&mut self, host: &HostName, offer: &Offer) {
        if let Some(known) = self.all.iter_mut().find(|known| known.id == offer.offer_id) {
            if !matches!(known.progress, Progress::Decided(_)) {
                known.progress = Progress::UnderWay;
            }
            return;
        }
        let known = KnownOffer { id: offer.offer_id, host: host.clone(), round: offer.round(), progress: Progress::UnderWay };
        self.all.push_back(known);
        self.all.drain(..self.all.len().saturating_sub(REMEMBERED));
    }

    pub(super) fn set(&mut self, offer: Uuid, progress: Progress) {
        let Some(known) = self.all.iter_mut().find(|known| known.id == offer) else { return };
        known.progress = match (&known.progress, progress) {
            // A verdict is final.
            (Progress::Decided(_), _) => return,
            // This attempt did not send it, but the first one may have.
            (Progress::Unconfirmed(_), Progress::NotSent(_) | Progress::Unconfirmed(_)) => return,
            (_, progress) => progress,
        };
    }

    pub(super) fn get(&self, offer: Uuid) -> Option<Progress> {
        self.all.iter().find(|known| known.id == offer).map(|known| known.progress.clone())
    }

    /// Keeps an offer that was not confirmed.
    pub(super) fn keep(&mut self, host: &HostName, offer: Offer) {
        self.unconfirmed.retain(|(_, kept)| kept.offer_id != offer.offer_id);
        self.unconfirmed.push_back((host.clone(), offer));
        self.unconfirmed.drain(..self.unconfirmed.len().saturating_sub(KEPT));
    }

    /// True if an answer to this workflow's question was not confirmed.
    pub(super) fn concerns(&self, host: &HostName, workflow: &WorkflowId) -> bool {
        self.unconfirmed.iter().any(|(to, offer)| to == host && offer.workflow_id == *workflow)
    }

    /// The next offer to be made again to a machine. If the person has answered once more since, the later answer is the one that is
    /// meant. The earlier one is then made again only when it can no longer count, to learn its result.
    pub(super) fn next(&mut self, host: &HostName) -> Option<Offer> {
        let all = &self.all;
        let place = |id: Uuid| all.iter().position(|known| known.id == id);
        let is_open = |offer: &Offer| place(offer.offer_id).is_some_and(|n| matches!(all[n].progress, Progress::Unconfirmed(_)));
        self.unconfirmed.retain(|(_, offer)| is_open(offer));
        let is_meant = |(to, offer): &&(HostName, Offer)| {
            let later = all.iter().skip(place(offer.offer_id).map_or(0, |n| n + 1));
            let mut later = later.filter(|known| known.host == *to && known.round == offer.round());
            to == host && later.all(|known| known.progress.ends_round())
        };
        self.unconfirmed.iter().find(is_meant).map(|(_, offer)| offer.clone())
    }

    /// True if offers are to be made again to a machine now, `at_once` or after a pause. Then no other thread begins to make them again
    /// until [`Self::end_again`]. If a thread makes them already, an attempt `at_once` follows that one.
    pub(super) fn begin_again(&mut self, host: &HostName, at_once: bool) -> bool {
        if self.unconfirmed.is_empty() {
            return false;
        }
        if let Some(last) = self.again.get_mut(host).filter(|last| last.is_under_way) {
            last.is_wanted |= at_once;
            return false;
        }
        let is_pause = self.again.get(host).is_some_and(|last| !at_once && last.begun.elapsed() < last.pause);
        if is_pause || self.next(host).is_none() {
            return false;
        }
        let last = self.again.get(host).filter(|_| !at_once);
        let pause = last.map_or(FIRST_PAUSE, |last| (last.pause * 2).min(LONGEST_PAUSE));
        self.again.insert(host.clone(), Again { is_under_way: true, is_wanted: false, begun: Instant::now(), pause });
        true
    }

    /// Ends the repetition of offers to this machine. Returns true if a report has asked for another attempt since they began: this
    /// attempt may have failed before that report.
    pub(super) fn end_again(&mut self, host: &HostName) -> bool {
        let Some(again) = self.again.get_mut(host) else { return false };
        again.is_under_way = false;
        std::mem::take(&mut again.is_wanted)
    }
}
