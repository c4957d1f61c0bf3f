//! Claims and launches what may be launched: recovered and woken runs first, then answers in their order.

use std::time::Duration;

use crate::disk;
use crate::error::Error;
use crate::id::{RoundId, WorkflowId};
use crate::mailbox::{Folder, read_question};
use crate::run::claim::{self, ClaimAttempt, Refusal};
use crate::time;
use crate::watch::breaker::gate::Verdict;
use crate::watch::watcher::{Watcher, pause_after};

/// How often to look again at an answer that `ask-post --wait` is about to take.
const RECHECK_INLINE_EVERY: Duration = Duration::from_secs(1);

impl Watcher<'_> {
    /// Puts an answered workflow into the queue.
    pub(in crate::watch) fn enqueue(&mut self, workflow: &WorkflowId) {
        if self.queue.contains(workflow) {
            return;
        }
        match read_question::answered_at(&self.mailbox.document(Folder::Answered, workflow)) {
            Err(e) if e.is_missing_file() => {}
            at => self.queue.push(at.ok().flatten().unwrap_or_else(time::now), workflow.clone()),
        }
    }

    /// The run of this round has ended or been recovered: workflows that waited for it go back into the queue.
    pub(in crate::watch) fn release_waiting_for(&mut self, round: &RoundId) {
        if self.serves(&round.workflow) {
            self.changed.insert(round.workflow.clone());
            self.enqueue(&round.workflow);
        }
        let waiting = std::mem::take(&mut self.waiting_for_run);
        let (released, rest): (Vec<_>, Vec<_>) = waiting.into_iter().partition(|(run, _)| run == round);
        self.waiting_for_run = rest;
        released.iter().for_each(|(_, workflow)| self.enqueue(workflow));
    }

    /// Launches what may be launched, up to `relaunch.max_concurrent`.
    pub(in crate::watch) fn launch(&mut self) {
        while self.something_waits() && self.gate_is_open() {
            let Some(_place) = self.reserve_place() else { break };
            if let Some(run) = self.ready.pop_front() {
                self.start(run);
                continue;
            }
            let Some(workflow) = self.queue.pop() else { return };
            self.claim_and_start(workflow);
        }
        if !self.something_waits() {
            self.gate.rest();
            self.places.look_at = None;
        }
    }

    fn something_waits(&self) -> bool {
        !(self.ready.is_empty() && self.queue.is_empty())
    }

    fn gate_is_open(&mut self) -> bool {
        match self.gate.check() {
            Verdict::Launch => true,
            Verdict::Wait => false,
            Verdict::WaitForProbe(round) => {
                // The probe's end is noticed even if another watcher started it.
                if !self.live.contains(&round) {
                    self.recover(&round);
                    self.gate.recheck_probe_soon();
                }
                false
            }
        }
    }

    fn claim_and_start(&mut self, workflow: WorkflowId) {
        let answered = self.mailbox.document(Folder::Answered, &workflow);
        let refusal = match claim::take(&self.mailbox, &self.config, &workflow) {
            Ok(ClaimAttempt::Claimed(claim)) => return self.start_claimed(*claim),
            Ok(ClaimAttempt::Refused(refusal)) => refusal,
            Err(e) => {
                let pause = pause_after(&e);
                if !matches!(e, Error::Conflict { .. }) {
                    self.look_later(answered, pause);
                }
                return;
            }
        };
        match refusal {
            Refusal::NothingAnswered | Refusal::NotTrusted(_) | Refusal::AwaitedBySession(_) => {}
            Refusal::MayBeUnfinished(wait) => self.look_later(answered, wait + Duration::from_millis(50)),
            Refusal::AwaitedInline(_) => self.look_later(answered, RECHECK_INLINE_EVERY),
            // The end of that run puts this answer back into the queue. If it has ended meanwhile, a second look does.
            Refusal::EarlierRound(round) | Refusal::AskerRuns(round) => {
                self.recover(&round);
                if !disk::exists(self.mailbox.round(Folder::Running, &round)) {
                    self.look_later(answered, Duration::ZERO);
                } else if round.workflow != workflow && !self.waiting_for_run.iter().any(|(_, w)| *w == workflow) {
                    self.waiting_for_run.push((round, workflow));
                }
            }
        }
    }
}
