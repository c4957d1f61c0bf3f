//! The launches of a watcher: runs that wait, runs that are under way, and the gate and the places that may hold them up.
//!
//! Answered workflows: those that may be claimed, in the order of their answers, and those that wait for the end of a run. Each
//! workflow is in the queue once.
//!
//! Processes of an earlier attempt. A thread of its own ends them, because a process that is stuck must not delay other launches.

use std::collections::{BTreeSet, HashSet, VecDeque};
use std::sync::mpsc::Sender;
use std::time::Instant;

use crate::dates::Dates;
use crate::launch::gate::Gate;
use crate::launch::places::Places;
use crate::launch::supervisors::{self, Supervisors};
use crate::messages::WatchMessage;
use crate::scope::Served;
use askbox_mailbox::{Folder, RoundId, Time, WorkflowId, read_question, text, thread, time};
use askbox_run::{Run, RunState, log, record, recovery};

/// The launches of a watcher.
pub(crate) struct Launches {
    /// Answered workflows that are to be claimed.
    pub(super) queue: LaunchQueue,
    /// Claimed attempts that are to be launched.
    pub(super) ready: VecDeque<Run>,
    pub(super) supervisors: Supervisors,
    pub(super) orphans: Orphans,
    pub(crate) gate: Gate,
    pub(super) places: Places,
    /// Answered workflows whose runner cannot be started, once that was reported.
    pub(super) without_program: HashSet<WorkflowId>,
    /// Claimed rounds whose recovery failed at the last look, because a file of theirs cannot be used.
    pub(super) unrecovered: HashSet<RoundId>,
}

impl Launches {
    pub(crate) fn new(served: &Served, sender: &Sender<WatchMessage>) -> Self {
        Self {
            queue: LaunchQueue::default(),
            ready: VecDeque::new(),
            supervisors: Supervisors::new(sender.clone()),
            orphans: Orphans::new(sender.clone()),
            gate: Gate::new(&served.mailbox, &served.config),
            places: Places::default(),
            without_program: HashSet::new(),
            unrecovered: HashSet::new(),
        }
    }

    /// Puts an answered workflow into the queue.
    pub(crate) fn enqueue(&mut self, served: &Served, workflow: &WorkflowId) {
        if self.queue.known.contains(workflow) {
            return;
        }
        match read_question::answered_at(&served.mailbox.document(Folder::Answered, workflow)) {
            Err(e) if e.is_missing_file() => {}
            at => self.queue.push(at.ok().flatten().unwrap_or_else(time::now), workflow.clone()),
        }
    }

    /// Puts the workflows that waited for this round back into the queue, because its run has ended or been recovered.
    pub(crate) fn release_waiting_for(&mut self, served: &Served, round: &RoundId) {
        self.queue.take_waiting_for(round).iter().for_each(|workflow| self.enqueue(served, workflow));
    }

    /// Takes the run of a parent that was woken. It is to be launched.
    pub(crate) fn add_woken(&mut self, run: Run) {
        tracing::info!(event = "woken", workflow = %run.workflow_id, "what it started has ended");
        let round = run.round();
        if !self.is_live(&round) && !self.is_ready(&round) {
            self.ready.push_back(run);
        }
    }

    /// True if an attempt of this round waits to be launched.
    pub(super) fn is_ready(&self, round: &RoundId) -> bool {
        self.ready.iter().any(|r| r.round() == *round)
    }

    /// True if a run of the round is live and this watcher will learn of its end.
    pub(crate) fn is_live(&self, round: &RoundId) -> bool {
        self.supervisors.live.contains(round)
    }

    /// The number of live runs.
    pub(crate) fn live(&self) -> usize {
        self.supervisors.live.len()
    }

    /// The number of runs that wait to be launched.
    pub(crate) fn waiting(&self) -> usize {
        self.ready.len() + self.queue.order.len()
    }

    /// When to call [`Self::launch`] again.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.gate.deadline().into_iter().chain(self.places.look_at).min()
    }

    /// Reports to the breaker how a run has ended, and returns the run. Two watchers may each have started a supervisor. If the other
    /// watcher's supervisor owns the run, the run has not ended.
    pub(super) fn observe_end(&mut self, served: &Served, round: &RoundId) -> Option<Run> {
        self.supervisors.live.remove(round);
        if supervisors::is_supervised(&served.mailbox, round) {
            return None;
        }
        let latest = log::ok(record::latest(&served.mailbox, round)).flatten();
        if let Some(run) = &latest {
            if served.scope.is_service() {
                log_end(run);
            }
            self.gate.observe(std::slice::from_ref(run));
        }
        self.gate.end_dead_probe();
        latest
    }
}

/// A line of the log about how an attempt ended.
fn log_end(run: &Run) {
    let (workflow, attempt) = (&run.workflow_id, run.attempt);
    let why = run.why.as_deref().map(|why| format!(": {}", text::excerpt(why, 300))).unwrap_or_default();
    let usd = run.cost_usd.filter(|usd| *usd > 0.0);
    let cost = usd.map(|usd| format!(", ${usd:.4}")).unwrap_or_default();
    match run.state {
        RunState::Delivered => tracing::info!(event = "delivered", %workflow, attempt, usd, "attempt {attempt}{cost}{why}"),
        RunState::Asking => tracing::info!(event = "asking", %workflow, attempt, usd, "attempt {attempt}{cost} waits for its question"),
        RunState::Interrupted => tracing::info!(event = "interrupted", %workflow, attempt, usd, "attempt {attempt}{cost}{why}"),
        RunState::Failed => tracing::warn!(event = "failed", %workflow, attempt, usd, "attempt {attempt}{cost}{why}"),
        RunState::Parked => {
            tracing::warn!(event = "parked", %workflow, attempt, usd, "attempt {attempt}{cost}{why}; see: relaunch status {workflow}");
        }
        RunState::Claimed | RunState::Running => {}
    }
}

#[derive(Debug, Default)]
pub(super) struct LaunchQueue {
    pub(super) order: BTreeSet<(Time, WorkflowId)>,
    known: HashSet<WorkflowId>,
    /// Answered workflows that wait for the end of another workflow's run.
    waiting_for_run: Vec<(RoundId, WorkflowId)>,
}

impl LaunchQueue {
    /// Adds a workflow. If it is in the queue already, it keeps its place.
    pub(super) fn push(&mut self, answered_at: Time, workflow: WorkflowId) {
        if self.known.insert(workflow.clone()) {
            self.order.insert((answered_at, workflow));
        }
    }

    pub(super) fn pop(&mut self) -> Option<WorkflowId> {
        let (_, workflow) = self.order.pop_first()?;
        self.known.remove(&workflow);
        Some(workflow)
    }

    /// The workflow that [`Self::pop`] returns next.
    pub(super) fn first(&self) -> Option<&WorkflowId> {
        self.order.first().map(|(_, workflow)| workflow)
    }

    /// Lets a workflow wait for the end of a round's run, unless it already waits for one.
    pub(super) fn wait_for_run(&mut self, round: RoundId, workflow: WorkflowId) {
        if !self.waiting_for_run.iter().any(|(_, w)| *w == workflow) {
            self.waiting_for_run.push((round, workflow));
        }
    }

    /// Takes the workflows that wait for the end of this round's run.
    fn take_waiting_for(&mut self, round: &RoundId) -> Vec<WorkflowId> {
        let waiting = std::mem::take(&mut self.waiting_for_run);
        let (released, rest): (Vec<_>, Vec<_>) = waiting.into_iter().partition(|(run, _)| run == round);
        self.waiting_for_run = rest;
        released.into_iter().map(|(_, workflow)| workflow).collect()
    }
}

/// The rounds that have a thread to end the processes of an earlier attempt.
pub(super) struct Orphans {
    /// Receives the next steps of the rounds afterwards.
    sender: Sender<WatchMessage>,
    pub(super) rounds: HashSet<RoundId>,
}

impl Orphans {
    pub(super) fn new(sender: Sender<WatchMessage>) -> Self {
        Self { sender, rounds: HashSet::new() }
    }

    /// Starts the thread of a round.
    pub(super) fn end(&mut self, served: &Served, dates: &mut Dates, round: &RoundId) {
        let (mailbox, config, sender, ended) = (served.mailbox.clone(), served.config.clone(), self.sender.clone(), round.clone());
        let ends = thread::start(move || {
            let recovered = recovery::recover(&mailbox, &config, &ended);
            let _ = sender.send(WatchMessage::Recovered(ended, Box::new(recovered)));
        });
        match ends {
            Ok(_) => drop(self.rounds.insert(round.clone())),
            Err(e) => dates.retry(served.mailbox.round(Folder::Running, round), &e),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workflow_is_queued_once_and_the_earliest_answer_pops_first() {
        let mut queue = LaunchQueue::default();
        let at = |seconds| Time::from_timestamp(seconds, 0).unwrap();
        for (seconds, workflow) in [(30, "c"), (10, "a"), (20, "b"), (5, "c")] {
            queue.push(at(seconds), workflow.parse().unwrap());
        }
        assert_eq!(queue.order.len(), 3);
        let order: Vec<String> = std::iter::from_fn(|| queue.pop()).map(|w| w.to_string()).collect();
        assert_eq!((order.join(" "), queue.order.is_empty()), ("a b c".into(), true));
        queue.push(at(1), "c".parse().unwrap());
        assert!(queue.known.contains(&"c".parse().unwrap()), "a workflow that was popped may come again");
    }
}
