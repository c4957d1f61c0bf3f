//! What is known of other machines at one moment: a picture is drawn from it, and the next one is compared with it.

use std::collections::HashMap;
use std::sync::Arc;

use uuid::Uuid;

use crate::address::{Address, HostName};
use crate::id::WorkflowId;
use crate::peers::known::{HostView, Reach};
use crate::peers::state::WayView;
use crate::peers::{Peers, Progress, RemoteQuestion};
use crate::surface::askbox::machines;

/// What is known of other machines.
#[derive(Debug, Default)]
pub struct Elsewhere {
    /// By name.
    machines: Vec<HostView>,
    /// The databases, which tell their machines themselves.
    ways: Vec<WayView>,
    /// What has become of the answers that were offered from here.
    offers: HashMap<Uuid, Progress>,
    /// Why no machine is shown.
    problem: Option<String>,
    /// Whether it is known which machines there are.
    is_open: bool,
}

impl Elsewhere {
    pub(super) fn of(peers: &Peers, offered: &[Uuid]) -> Self {
        let offers = offered.iter().filter_map(|id| Some((*id, peers.progress(*id)?))).collect();
        Self { machines: peers.view(), ways: peers.ways(), offers, problem: None, is_open: true }
    }

    pub(super) fn without(problem: String) -> Self {
        Self { problem: Some(problem), ..Self::nobody() }
    }

    /// There are no other machines.
    pub(super) fn nobody() -> Self {
        Self { is_open: true, ..Self::default() }
    }

    /// Whether there is nothing else to see: a machine that says again that it is there changes nothing.
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

    /// The questions that came, went or were told anew since `before`.
    pub fn changes_since(&self, before: &Self) -> Vec<Address> {
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

    /// Where a question waits.
    pub fn addresses(&self) -> impl Iterator<Item = Address> + '_ {
        self.machines.iter().flat_map(|machine| machine.questions.iter().map(|question| question.address()))
    }

    pub fn machine(&self, host: &HostName) -> Option<&HostView> {
        let at = self.machines.binary_search_by(|machine| machine.host.cmp(host)).ok()?;
        self.machines.get(at)
    }

    /// The question that waits there for a workflow, as far as it is known.
    pub fn question(&self, host: &HostName, workflow: &WorkflowId) -> Option<&Arc<RemoteQuestion>> {
        let questions = &self.machine(host)?.questions;
        questions.get(questions.binary_search_by(|question| question.workflow.cmp(workflow)).ok()?)
    }

    /// What is known of an offer from here.
    pub fn progress(&self, offer: Uuid) -> Option<&Progress> {
        self.offers.get(&offer)
    }

    /// Whether this machine was neither reached nor tried in vain yet.
    pub fn is_asked(&self, host: &HostName) -> bool {
        match self.machine(host) {
            Some(machine) => machine.reach == Reach::Connecting,
            // A database may know it.
            None => !self.is_open || self.ways.iter().any(|view| view.way.reach == Reach::Connecting),
        }
    }

    /// Whether there are no other machines to speak of.
    pub fn is_nobody(&self) -> bool {
        self.machines.is_empty() && self.ways.is_empty()
    }

    /// The machines that are tried for the first time.
    pub fn being_asked(&self) -> Vec<&str> {
        let of_ways = self.ways.iter().filter(|view| view.way.reach == Reach::Connecting).map(|view| view.name.as_str());
        let machines = self.machines.iter().filter(|machine| machine.reach == Reach::Connecting).map(|machine| machine.host.as_str());
        of_ways.chain(machines).collect()
    }

    /// What is to be known of machines that are not reached, or have more questions than are kept here; one line.
    pub fn note(&self) -> Option<String> {
        if let Some(problem) = &self.problem {
            return Some(format!("other machines are not shown: {problem}"));
        }
        let is_lost = |reach: &Reach| matches!(reach, Reach::Unreachable { .. });
        let ways = self.ways.iter().filter(|view| is_lost(&view.way.reach));
        let ways = ways.filter_map(|view| Some((view.name.as_str(), machines::silence(&view.name, &view.way.reach)?)));
        let lost = self.machines.iter().filter(|machine| is_lost(&machine.reach));
        // One reason is told once: the machines of a database that is not reached say nothing of their own.
        let lost: Vec<_> = ways.chain(lost.filter_map(|machine| Some((machine.host.as_str(), machines::staleness(machine)?)))).collect();
        let lost = match lost.as_slice() {
            [] => None,
            [(_, why)] => Some(why.clone()),
            many => Some(format!("not reached: {}", many.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", "))),
        };
        let more = self.machines.iter().filter(|machine| machine.left_out > 0);
        let more = more.map(|machine| format!("{} has {} more questions than are shown here", machine.host, machine.left_out));
        let all: Vec<_> = lost.into_iter().chain(self.machines.iter().filter_map(machines::no_mailbox)).chain(more).collect();
        Some(all.join(" · ")).filter(|note| !note.is_empty())
    }
}
