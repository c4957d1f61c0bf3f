//! The reports of all peers together.

use std::collections::BTreeMap;

use uuid::Uuid;

use crate::known::{Fate, KnownMachine, Reach};
use crate::offers::Offers;
use crate::peer::{Change, Peer, Problem, Progress};
use askbox_mailbox::{Decided, HostName, Offer, Verdict, text, time};

/// The reports of all peers together.
#[derive(Debug, Default)]
pub(super) struct PeersState {
    pub(super) hosts: BTreeMap<HostName, KnownMachine>,
    /// The peers that report by themselves which machines they lead to, by number.
    pub(super) ways: BTreeMap<usize, Way>,
    pub(super) offers: Offers,
    /// The threads at work.
    pub(super) at_work: usize,
    /// Counts the changes.
    pub(super) revision: u64,
}

/// The state of a peer that leads to several machines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Way {
    /// Its name in the configuration.
    pub name: String,
    /// The state of the connection to the peer itself. Its machines may be away all the same.
    pub reach: Reach,
    /// The version of the program in between.
    pub version: Option<String>,
}

impl PeersState {
    /// Begins with a peer, and the machines that it is known to lead to.
    pub(super) fn begin(&mut self, n: usize, peer: &dyn Peer) {
        let hosts = peer.hosts();
        if hosts.is_empty() {
            self.ways.insert(n, Way { name: peer.name().to_owned(), reach: Reach::Connecting, version: None });
        }
        for host in hosts {
            self.hosts.entry(host).or_insert_with(|| KnownMachine::new(n));
        }
    }

    /// True if there is nothing more to wait for: each machine is settled, and each peer has reported its machines or could not be
    /// reached. If another process failed to reach a peer a moment ago, the peer's machines have a note of that.
    pub(super) fn is_settled(&self, is_settled: impl Fn(&KnownMachine) -> bool) -> bool {
        let tried_before = |n: usize| {
            let mut led_to = self.hosts.values().filter(|known| known.peer == n).peekable();
            led_to.peek().is_some() && led_to.all(|known| known.before.is_some() && is_settled(known))
        };
        let mut ways = self.ways.iter();
        self.hosts.values().all(&is_settled) && ways.all(|(n, way)| way.reach != Reach::Connecting || tried_before(*n))
    }

    /// Notes that a connection ended, or could not be made.
    pub(super) fn unreachable(&mut self, n: usize, problem: &Problem) {
        if let Some(way) = self.ways.get_mut(&n) {
            let since = if let Reach::Unreachable { since, .. } = way.reach { since } else { time::now() };
            way.reach = Reach::Unreachable { since, problem: problem.clone() };
        }
        let of_peer = self.hosts.values_mut().filter(|known| known.peer == n);
        of_peer.for_each(|known| known.unreachable(problem.clone(), time::now()));
    }

    /// Takes a peer's report. Reports about another peer's machine are left out. Returns the machines that the peer no longer leads to.
    pub(super) fn take(&mut self, n: usize, change: Change) -> Vec<HostName> {
        match change {
            Change::Begins(host, version) => self.change_machine(n, host, |known| known.begin(&version)),
            Change::Listed(host) => self.change_machine(n, host, KnownMachine::listed),
            Change::Mailbox(host, missing) => self.change_machine(n, host, |known| known.no_mailbox = missing),
            Change::Heard(host, at) => self.change_machine(n, host, |known| known.as_of = Some(at)),
            Change::Question(question) => self.change_machine(n, question.host.clone(), |known| known.add(*question)),
            Change::Gone { host, workflow, question, fate, offer } => {
                // The machine's list has the result that the reply to the offer would have had.
                let is_open = |id: &Uuid| matches!(self.offers.get(*id), Some(Progress::Unconfirmed(_) | Progress::UnderWay));
                if let Some(offer_id) = offer.filter(is_open) {
                    let verdict = Verdict { offer_id, decided: Decided::Accepted, said: "answered".into(), hint: None, warning: None };
                    self.offers.set(offer_id, Progress::Decided(verdict));
                }
                self.change_machine(n, host, |known| known.gone(&workflow, question, Fate { said: fate, offer }));
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
                    (way.reach, way.version) = (Reach::Reachable, Some(text::excerpt(&version, 80)));
                }
                let is_left = |host: &HostName, known: &mut KnownMachine| known.peer == n && !hosts.contains(host);
                return self.hosts.extract_if(.., is_left).map(|(host, _)| host).collect();
            }
        }
        Vec::new()
    }

    fn change_machine(&mut self, n: usize, host: HostName, apply: impl FnOnce(&mut KnownMachine)) {
        let known = self.hosts.entry(host).or_insert_with(|| KnownMachine::new(n));
        if known.peer == n {
            known.as_of = Some(time::now());
            apply(known);
        }
    }

    /// Takes the result of an offer. An offer that was not confirmed is kept.
    pub(super) fn offered(&mut self, host: &HostName, offer: Offer, progress: Progress) {
        self.told_again(host, &offer, progress);
        if matches!(self.offers.get(offer.offer_id), Some(Progress::Unconfirmed(_))) {
            self.offers.keep(host, offer);
        }
    }

    /// Takes the result of an offer that was made again.
    pub(super) fn told_again(&mut self, host: &HostName, offer: &Offer, progress: Progress) {
        self.take_away(host, offer, &progress);
        self.offers.set(offer.offer_id, progress);
    }

    /// Removes a question that its machine has decided about, even before the machine's list reports it.
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
