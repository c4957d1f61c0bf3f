//! The state of other machines at one moment. A picture is drawn from it, and it is compared with the next state. A question of another
//! machine can be opened once that machine has reported.

use std::collections::HashMap;
use std::sync::Arc;

use uuid::Uuid;

use crate::sender::Others;
use askbox_mailbox::{Address, HostName, WorkflowId};
use askbox_peers::known::{HostView, Reach};
use askbox_peers::state::Way;
use askbox_peers::{Progress, RemoteQuestion, machines};

/// The state of other machines.
#[derive(Debug, Default)]
pub struct Machines {
    /// The machines, sorted by name.
    pub(super) machines: Vec<HostView>,
    /// The databases, which name their machines themselves.
    pub(super) ways: Vec<Way>,
    /// The progress of the answers that were offered from here.
    pub offers: HashMap<Uuid, Progress>,
    /// The reason why no machine is shown.
    pub(super) problem: Option<String>,
    /// True if it is known which machines exist.
    pub(super) is_open: bool,
}

impl Machines {
    pub(super) fn without(problem: String) -> Self {
        Self { problem: Some(problem), ..Self::nobody() }
    }

    /// The state without any other machines.
    pub(super) fn nobody() -> Self {
        Self { is_open: true, ..Self::default() }
    }

    /// True if the screen would look the same. A machine that only reports again that it is there changes nothing.
    pub(super) fn looks_like(&self, other: &Self) -> bool {
        let same = |(a, b): (&HostView, &HostView)| {
            (&a.host, &a.reach, a.left_out, a.is_waited_for, &a.no_mailbox, &a.undecided)
                == (&b.host, &b.reach, b.left_out, b.is_waited_for, &b.no_mailbox, &b.undecided)
                && a.questions.len() == b.questions.len()
                && a.questions.iter().zip(&b.questions).all(|(a, b)| Arc::ptr_eq(a, b))
        };
        self.machines.len() == other.machines.len()
            && self.machines.iter().zip(&other.machines).all(same)
            && (&self.ways, &self.offers, &self.problem) == (&other.ways, &other.offers, &other.problem)
            && self.is_open == other.is_open
    }

    /// The questions that came, went or changed since `before`.
    fn changes_since(&self, before: &Self) -> Vec<Address> {
        let all = |view: &Self| -> HashMap<(HostName, WorkflowId), Arc<RemoteQuestion>> {
            let questions = view.machines.iter().flat_map(|machine| &machine.questions);
            questions.map(|question| ((question.host.clone(), question.workflow.clone()), Arc::clone(question))).collect()
        };
        let (mut gone, mut changed) = (all(before), Vec::new());
        for (name, question) in all(self) {
            if gone.remove(&name).is_none_or(|known| !Arc::ptr_eq(&known, &question)) {
                changed.push(name);
            }
        }
        let changed = changed.into_iter().chain(gone.into_keys());
        changed.map(|(host, workflow)| Address { host: Some(host), workflow }).collect()
    }

    /// The addresses of all waiting questions.
    pub fn addresses(&self) -> impl Iterator<Item = Address> + '_ {
        self.machines.iter().flat_map(|machine| machine.questions.iter().map(|question| question.address()))
    }

    /// The names of all machines.
    pub fn hosts(&self) -> Vec<HostName> {
        self.machines.iter().map(|machine| machine.host.clone()).collect()
    }

    pub fn machine(&self, host: &HostName) -> Option<&HostView> {
        let at = self.machines.binary_search_by(|machine| machine.host.cmp(host)).ok()?;
        self.machines.get(at)
    }

    /// The waiting question of a workflow on a machine, if it is known.
    pub fn question(&self, host: &HostName, workflow: &WorkflowId) -> Option<&Arc<RemoteQuestion>> {
        let questions = &self.machine(host)?.questions;
        questions.get(questions.binary_search_by(|question| question.workflow.cmp(workflow)).ok()?)
    }

    /// True if this machine is being asked: it was not reached yet, and no attempt has failed.
    pub fn is_asked(&self, host: &HostName) -> bool {
        match self.machine(host) {
            Some(machine) => machine.reach == Reach::Connecting,
            // A database may know this machine.
            None => !self.is_open || self.ways.iter().any(|way| way.reach == Reach::Connecting),
        }
    }

    /// True if there are no other machines.
    pub fn is_nobody(&self) -> bool {
        self.machines.is_empty() && self.ways.is_empty()
    }

    /// The machines that are being tried for the first time.
    pub fn being_asked(&self) -> Vec<&str> {
        let of_ways = self.ways.iter().filter(|way| way.reach == Reach::Connecting).map(|way| way.name.as_str());
        let machines = self.machines.iter().filter(|machine| machine.reach == Reach::Connecting).map(|machine| machine.host.as_str());
        of_ways.chain(machines).collect()
    }

    /// One line about machines that are not reached, or that have more questions than are kept here.
    pub fn note(&self) -> Option<String> {
        if let Some(problem) = &self.problem {
            return Some(format!("other machines are not shown: {problem}"));
        }
        let lost = machines::not_reached(&self.ways, &self.machines).into_iter();
        let lost: Vec<_> = lost.filter(|lost| matches!(lost.reach, Reach::Unreachable { .. })).collect();
        let lost = match lost.as_slice() {
            [] => None,
            [one] => Some(one.why.clone()),
            many => Some(format!("not reached: {}", many.iter().map(|lost| lost.name).collect::<Vec<_>>().join(", "))),
        };
        let more = self.machines.iter().filter(|machine| machine.left_out > 0);
        let more = more.map(|machine| format!("{} has {} more questions than are shown here", machine.host, machine.left_out));
        let all: Vec<_> = lost.into_iter().chain(self.machines.iter().filter_map(machines::no_mailbox)).chain(more).collect();
        Some(all.join(" · ")).filter(|note| !note.is_empty())
    }
}

/// The news of other machines.
pub struct Heard {
    /// The state of other machines that is on the screen.
    pub now: Arc<Machines>,
    /// The question to open first.
    wanted: Option<Address>,
}

/// The state of the question to open first.
pub enum Wanted {
    /// Its machine has reported the question, or has been asked without success.
    Opens(Address),
    /// Its machine is being asked.
    Waits(Address),
}

impl Heard {
    pub fn new(others: &Others) -> Self {
        Self { now: others.latest(), wanted: None }
    }

    /// Takes in the latest reports. Returns the questions that came, went or changed, or `None` without news.
    pub fn follow(&mut self, others: &Others) -> Option<Vec<Address>> {
        let latest = others.latest();
        if Arc::ptr_eq(&latest, &self.now) {
            return None;
        }
        let before = std::mem::replace(&mut self.now, latest);
        Some(self.now.changes_since(&before))
    }

    /// Requests that a question of another machine is opened once that machine has reported.
    pub fn want(&mut self, address: &Address) {
        self.wanted = Some(address.clone());
    }

    /// Cancels that request, because the person does something else.
    pub fn want_nothing(&mut self) {
        self.wanted = None;
    }

    /// The state of the wanted question. Once it can be opened, it is no longer wanted.
    pub fn wanted(&mut self) -> Option<Wanted> {
        let address = self.wanted.take()?;
        let host = address.host.as_ref()?;
        if self.now.question(host, &address.workflow).is_some() || !self.now.is_asked(host) {
            return Some(Wanted::Opens(address));
        }
        self.wanted = Some(address.clone());
        Some(Wanted::Waits(address))
    }
}
