//! What all peers have reported together.

use std::collections::BTreeMap;

use uuid::Uuid;

use crate::address::HostName;
use crate::mailbox::documents::offer::{Decided, Offer, Verdict};
use crate::peers::known::{Fate, Known, Reach};
use crate::peers::offers::{Offers, Progress};
use crate::peers::peer::{Change, Problem};
use crate::text;
use crate::time;

/// What all peers have reported together.
#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) hosts: BTreeMap<HostName, Known>,
    /// The peers that tell their machines themselves, by number.
    pub(super) ways: BTreeMap<usize, Way>,
    pub(super) offers: Offers,
    /// The threads at work.
    pub(super) at_work: usize,
    /// Counts the changes.
    pub(super) revision: u64,
}

/// How a peer is reached that leads to several machines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Way {
    /// How it is reached. Its machines may be away all the same.
    pub reach: Reach,
    /// Of which version it is.
    pub version: Option<String>,
}

/// A peer that leads to several machines, as a surface sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WayView {
    /// Its name in the configuration.
    pub name: String,
    /// How it is reached.
    pub way: Way,
}

impl State {
    /// A peer begins, which is known to lead to these machines.
    pub(super) fn begin(&mut self, n: usize, hosts: Vec<HostName>) {
        if hosts.is_empty() {
            self.ways.insert(n, Way { reach: Reach::Connecting, version: None });
        }
        for host in hosts {
            self.hosts.entry(host).or_insert_with(|| Known::new(n));
        }
    }

    /// Whether nothing is waited for any more: each machine is settled, and each peer has told its machines or was tried in vain. One that
    /// was tried in vain a moment ago has left that with its machines.
    pub(super) fn is_settled(&self, is_settled: impl Fn(&Known) -> bool) -> bool {
        let tried_before = |n: usize| {
            let mut led_to = self.hosts.values().filter(|known| known.peer == n).peekable();
            led_to.peek().is_some() && led_to.all(|known| known.before.is_some() && is_settled(known))
        };
        let mut ways = self.ways.iter();
        self.hosts.values().all(&is_settled) && ways.all(|(n, way)| way.reach != Reach::Connecting || tried_before(*n))
    }

    /// A connection ended, or was not made.
    pub(super) fn unreachable(&mut self, n: usize, problem: &Problem) {
        if let Some(way) = self.ways.get_mut(&n) {
            let since = if let Reach::Unreachable { since, .. } = way.reach { since } else { time::now() };
            way.reach = Reach::Unreachable { since, problem: problem.clone() };
        }
        let of_peer = self.hosts.values_mut().filter(|known| known.peer == n);
        of_peer.for_each(|known| known.unreachable(problem.clone(), time::now()));
    }

    /// Takes what a peer reports. What it reports about another peer's machine is left out. Returns the machines that it leads to no more.
    pub(super) fn take(&mut self, n: usize, change: Change) -> Vec<HostName> {
        match change {
            Change::Begins { host, version } => self.of(n, host, |known| known.begin(&version)),
            Change::Listed { host } => self.of(n, host, Known::listed),
            Change::Mailbox { host, missing } => self.of(n, host, |known| known.no_mailbox = missing),
            Change::Heard { host, at } => self.of(n, host, |known| known.as_of = Some(at)),
            Change::Question(question) => self.of(n, question.host.clone(), |known| known.add(*question)),
            Change::Gone { host, workflow, question, fate, offer } => {
                // The machine says in its list what the reply to the offer would have said.
                let is_open = |id: &Uuid| matches!(self.offers.get(*id), Some(Progress::Unconfirmed(_) | Progress::UnderWay));
                if let Some(offer_id) = offer.filter(is_open) {
                    let verdict = Verdict { offer_id, decided: Decided::Accepted, said: "answered".into(), hint: None, warning: None };
                    self.offers.set(offer_id, Progress::Decided(verdict));
                }
                self.of(n, host, |known| known.gone(&workflow, question, Fate { said: fate, offer }));
            }
            Change::Away { host, since, problem } => {
                if let Some(known) = self.hosts.get_mut(&host).filter(|known| known.peer == n) {
                    known.away(problem, since);
                }
            }
            Change::Undecided(offers) => {
                for (host, known) in self.hosts.iter_mut().filter(|(_, known)| known.peer == n) {
                    known.undecided = offers.iter().filter(|offer| offer.host == *host).cloned().collect();
                }
            }
            Change::Decided(verdict) => self.offers.set(verdict.offer_id, Progress::Decided(verdict)),
            Change::Complete { hosts, version } => {
                if let Some(way) = self.ways.get_mut(&n) {
                    *way = Way { reach: Reach::Reachable, version: Some(text::excerpt(&version, 80)) };
                }
                let is_left = |host: &HostName, known: &mut Known| known.peer == n && !hosts.contains(host);
                return self.hosts.extract_if(.., is_left).map(|(host, _)| host).collect();
            }
        }
        Vec::new()
    }

    fn of(&mut self, n: usize, host: HostName, apply: impl FnOnce(&mut Known)) {
        let known = self.hosts.entry(host).or_insert_with(|| Known::new(n));
        if known.peer == n {
            known.as_of = Some(time::now());
            apply(known);
        }
    }

    /// Whether this peer leads to the machine.
    pub(super) fn is_led_to(&self, n: usize, host: &HostName) -> bool {
        self.hosts.get(host).is_some_and(|known| known.peer == n)
    }

    /// What came of an offer. One that was not confirmed is kept.
    pub(super) fn offered(&mut self, host: &HostName, offer: Offer, progress: Progress) {
        self.told_again(host, &offer, progress);
        if matches!(self.offers.get(offer.offer_id), Some(Progress::Unconfirmed(_))) {
            self.offers.keep(host, offer);
        }
    }

    /// What came of an offer that was made again.
    pub(super) fn told_again(&mut self, host: &HostName, offer: &Offer, progress: Progress) {
        self.take_away(host, offer, &progress);
        self.offers.set(offer.offer_id, progress);
    }

    /// A question that its machine has decided about waits here no longer, even before the machine says so in its list.
    fn take_away(&mut self, host: &HostName, offer: &Offer, progress: &Progress) {
        let Progress::Decided(verdict) = progress else { return };
        if matches!(verdict.decided, Decided::Accepted | Decided::Lost | Decided::Closed)
            && let Some(known) = self.hosts.get_mut(host)
        {
            let is_ours = verdict.decided == Decided::Accepted;
            let fate = Fate { said: verdict.said.clone().into(), offer: is_ours.then_some(offer.offer_id) };
            known.gone(&offer.workflow_id, Some(offer.question_id), fate);
        }
    }
}
