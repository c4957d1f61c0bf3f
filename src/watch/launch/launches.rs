//! The launches of a watcher: runs that wait, runs that are under way, and the gate and the places that may hold them up.

use std::collections::VecDeque;
use std::sync::mpsc::Sender;
use std::time::Instant;

use crate::id::{RoundId, WorkflowId};
use crate::log;
use crate::mailbox::{Folder, read_question};
use crate::run::attempt::record::{self, Run, State};
use crate::text;
use crate::time::{self, Time};
use crate::watch::breaker::gate::Gate;
use crate::watch::launch::orphans::Orphans;
use crate::watch::launch::places::Places;
use crate::watch::launch::queue::Queue;
use crate::watch::launch::supervisors::{self, Supervisors};
use crate::watch::messages::WatchMessage;
use crate::watch::served::Served;

/// The launches of a watcher.
#[derive(Debug)]
pub(in crate::watch) struct Launches {
    /// Answered workflows that are to be claimed.
    pub(super) queue: Queue,
    /// Claimed attempts that are to be launched.
    pub(super) ready: VecDeque<Run>,
    pub(super) supervisors: Supervisors,
    pub(super) orphans: Orphans,
    pub(super) gate: Gate,
    pub(super) places: Places,
}

impl Launches {
    pub(in crate::watch) fn new(served: &Served, sender: &Sender<WatchMessage>) -> Self {
        Self {
            queue: Queue::default(),
            ready: VecDeque::new(),
            supervisors: Supervisors::new(sender.clone()),
            orphans: Orphans::new(sender.clone()),
            gate: Gate::new(&served.mailbox, &served.config),
            places: Places::default(),
        }
    }

    /// Puts an answered workflow into the queue.
    pub(in crate::watch) fn enqueue(&mut self, served: &Served, workflow: &WorkflowId) {
        if self.queue.contains(workflow) {
            return;
        }
        match read_question::answered_at(&served.mailbox.document(Folder::Answered, workflow)) {
            Err(e) if e.is_missing_file() => {}
            at => self.queue.push(at.ok().flatten().unwrap_or_else(time::now), workflow.clone()),
        }
    }

    /// The run of this round has ended or been recovered: workflows that waited for it go back into the queue.
    pub(in crate::watch) fn release_waiting_for(&mut self, served: &Served, round: &RoundId) {
        self.queue.take_waiting_for(round).iter().for_each(|workflow| self.enqueue(served, workflow));
    }

    /// A parent was woken: its run is to be launched.
    pub(in crate::watch) fn add_woken(&mut self, run: Run) {
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
    pub(in crate::watch) fn is_live(&self, round: &RoundId) -> bool {
        self.supervisors.live().contains(round)
    }

    /// The number of live runs.
    pub(in crate::watch) fn live(&self) -> usize {
        self.supervisors.live().len()
    }

    /// The number of runs that wait to be launched.
    pub(in crate::watch) fn waiting(&self) -> usize {
        self.ready.len() + self.queue.len()
    }

    /// The time until which the queue is paused, if it is.
    pub(in crate::watch) fn paused_until(&self) -> Option<Time> {
        self.gate.until()
    }

    /// When to call [`Self::launch`] again.
    pub(in crate::watch) fn deadline(&self) -> Option<Instant> {
        self.gate.deadline().into_iter().chain(self.places.deadline()).min()
    }

    pub(in crate::watch) fn count_recent_failures(&mut self) {
        self.gate.count_recent_failures();
    }

    pub(in crate::watch) fn end_dead_probe(&mut self) {
        self.gate.end_dead_probe();
    }

    /// Tells the breaker how a run has ended, and returns the run. Two watchers may each have started a supervisor: if the other one
    /// owns the run, the run has not ended.
    pub(super) fn observe_end(&mut self, served: &Served, round: &RoundId) -> Option<Run> {
        self.supervisors.ended(round);
        if supervisors::is_supervised(&served.mailbox, round) {
            return None;
        }
        let latest = record::latest(&served.mailbox, round).unwrap_or_else(|e| {
            log::error(&e);
            None
        });
        if let Some(run) = &latest {
            if served.by_service() {
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
    let why = run.progress.why.as_deref().map(|why| format!(": {}", text::excerpt(why, 300))).unwrap_or_default();
    let usd = run.progress.cost_usd.filter(|usd| *usd > 0.0);
    let cost = usd.map(|usd| format!(", ${usd:.4}")).unwrap_or_default();
    match run.progress.state {
        State::Delivered => tracing::info!(event = "delivered", %workflow, attempt, usd, "attempt {attempt}{cost}{why}"),
        State::Asking => tracing::info!(event = "asking", %workflow, attempt, usd, "attempt {attempt}{cost} waits for its question"),
        State::Interrupted => tracing::info!(event = "interrupted", %workflow, attempt, usd, "attempt {attempt}{cost}{why}"),
        State::Failed => tracing::warn!(event = "failed", %workflow, attempt, usd, "attempt {attempt}{cost}{why}"),
        State::Parked => {
            tracing::warn!(event = "parked", %workflow, attempt, usd, "attempt {attempt}{cost}{why}; see: relaunch status {workflow}");
        }
        State::Claimed | State::Running => {}
    }
}
