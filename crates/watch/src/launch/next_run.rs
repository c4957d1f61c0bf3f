//! Claims and launches the runs that are allowed: recovered and woken runs first, then answers in their order.

use std::time::Duration;

use crate::dates::{Dates, pause_after};
use crate::launch::gate::LaunchVerdict;
use crate::launch::launches::Launches;
use crate::launch::supervisors;
use crate::scope::Served;
use askbox_mailbox::{Error, Folder, Question, Result, WorkflowId, disk, read_question};
use askbox_run::claim::{self, Claim, ClaimAttempt, Refusal, Taken};
use askbox_run::delivery::Delivery;
use askbox_run::{Run, asking, log, programs};

/// How often to look for the program of a runner that cannot be started.
const LOOK_FOR_PROGRAM_EVERY: Duration = Duration::from_secs(15);
/// How often to look again at an answer that `ask-post --wait` is about to take.
const RECHECK_INLINE_EVERY: Duration = Duration::from_secs(1);
/// How often to look again at an answer that a live session is about to take.
const RECHECK_SESSION_EVERY: Duration = Duration::from_secs(60);

/// Why the program of this workflow's runner cannot be started. The gate knows it if there is only one runner.
fn cannot_start(served: &Served, workflow: &WorkflowId) -> Option<Error> {
    if served.config.runner.named.values().all(|runner| runner.workflows.is_empty()) {
        return None;
    }
    programs::cannot_start(&served.config, workflow)?;
    // The supervisor reads the configuration again, so another program may have been named in it since.
    programs::cannot_start(&askbox_config::load().ok()?.config, workflow)
}

/// Closes a round whose answer a person has given to an agent of their own.
fn leave_to_hand_started(served: &Served, workflow: &WorkflowId, pid: i32) -> Result<()> {
    if let ClaimAttempt::Claimed(claim) = claim::for_main_agent(&served.mailbox, workflow, &served.config.answers.policy())? {
        claim.delivered(&served.mailbox, &format!("process {pid}, which was started by hand"))?;
        tracing::warn!(
            event = "left",
            %workflow,
            "process {pid} was started by hand with this answer, so no second agent is: leave its start to the watcher"
        );
    }
    Ok(())
}

/// Looks again at an answer that could not be claimed, unless another process has it.
fn look_again(served: &Served, dates: &mut Dates, workflow: &WorkflowId, error: &Error) {
    let pause = pause_after(error);
    if !matches!(error, Error::Conflict { .. }) {
        dates.look_later(served.mailbox.document(Folder::Answered, workflow), pause);
    }
}

impl Launches {
    /// Launches the runs that are allowed, up to `relaunch.max_concurrent`.
    pub(crate) fn launch(&mut self, served: &Served, dates: &mut Dates) {
        while self.something_waits() {
            if self.ready.is_empty() && self.leave_to_session(served, dates) {
                continue;
            }
            if !self.gate_is_open(served, dates) {
                break;
            }
            let Some(_place) = self.places.reserve(served, &self.supervisors.live, &self.ready) else { break };
            if let Some(run) = self.ready.pop_front() {
                self.start(served, dates, run);
                continue;
            }
            let Some(workflow) = self.queue.pop() else { return };
            self.claim_and_start(served, dates, workflow);
        }
        if !self.something_waits() {
            self.gate.rest();
            self.places.rest();
        }
    }

    fn something_waits(&self) -> bool {
        !(self.ready.is_empty() && self.queue.order.is_empty())
    }

    /// Leaves the first answer of the queue to its session, if one takes it. No agent has to be started for it, so nothing pauses it.
    fn leave_to_session(&mut self, served: &Served, dates: &mut Dates) -> bool {
        let Some(first) = self.queue.first() else { return false };
        let document = read_question::document(&served.mailbox.document(Folder::Answered, first));
        let is_left = |question: &Question| Delivery::of_unclaimed(&served.mailbox, question).is_ok_and(|taker| taker == Delivery::Session);
        if !document.is_ok_and(|document| is_left(&document.typed)) {
            return false;
        }
        let Some(workflow) = self.queue.pop() else { return false };
        match claim::look(&served.mailbox, &served.config, &workflow) {
            Ok(Some(refusal)) => self.not_claimed(served, dates, workflow, refusal),
            // Another round of the workflow lies there by now.
            Ok(None) => self.enqueue(served, &workflow),
            Err(e) => look_again(served, dates, &workflow, &e),
        }
        true
    }

    fn gate_is_open(&mut self, served: &Served, dates: &mut Dates) -> bool {
        match self.gate.check() {
            LaunchVerdict::Launch => true,
            LaunchVerdict::Wait => false,
            LaunchVerdict::WaitForProbe(round) => {
                // The probe's end is noticed even if another watcher started it.
                if !self.is_live(&round) {
                    self.recover(served, dates, &round);
                    self.gate.recheck_probe_soon();
                }
                false
            }
        }
    }

    fn claim_and_start(&mut self, served: &Served, dates: &mut Dates, workflow: WorkflowId) {
        let answered = served.mailbox.document(Folder::Answered, &workflow);
        if let Some(e) = cannot_start(served, &workflow) {
            // The runs of other runners go on. The answer stays in its place, instead of a round that is parked.
            if self.without_program.insert(workflow.clone()) {
                tracing::warn!(event = "waits", %workflow, "its runner cannot be started: {e}; {}", e.hint());
            }
            dates.look_later(answered, LOOK_FOR_PROGRAM_EVERY);
            return;
        }
        self.without_program.remove(&workflow);
        match claim::take(&served.mailbox, &served.config, &workflow) {
            Ok(ClaimAttempt::Claimed(claim)) => self.start_claimed(served, dates, *claim),
            Ok(ClaimAttempt::Refused(refusal)) => self.not_claimed(served, dates, workflow, refusal),
            Err(e) => look_again(served, dates, &workflow, &e),
        }
    }

    fn not_claimed(&mut self, served: &Served, dates: &mut Dates, workflow: WorkflowId, refusal: Refusal) {
        let answered = served.mailbox.document(Folder::Answered, &workflow);
        match refusal {
            Refusal::NothingAnswered | Refusal::NotTrusted(_) => {}
            // It may end before it has taken the answer.
            Refusal::AwaitedBySession(_) => dates.look_later(answered, RECHECK_SESSION_EVERY),
            // Its hook is gone, so nobody can take the answer.
            Refusal::OfDialog(_) => {
                if let Err(e) = asking::orphans::end_answered(&served.mailbox, &workflow) {
                    log::error(&e);
                    dates.look_later(answered, pause_after(&e));
                }
            }
            Refusal::HandStarted(pid) => {
                if let Err(e) = leave_to_hand_started(served, &workflow, pid) {
                    look_again(served, dates, &workflow, &e);
                }
            }
            Refusal::MayBeUnfinished(wait) => dates.look_later(answered, wait + Duration::from_millis(50)),
            Refusal::AwaitedInline(_) => dates.look_later(answered, RECHECK_INLINE_EVERY),
            // The end of that run puts this answer back into the queue. If the run has already ended, the second look does.
            Refusal::EarlierRound(round) | Refusal::AskerRuns(round) => {
                self.recover(served, dates, &round);
                if !disk::exists(served.mailbox.round(Folder::Running, &round)) {
                    dates.look_later(answered, Duration::ZERO);
                } else if round.workflow != workflow {
                    self.queue.wait_for_run(round, workflow);
                }
            }
        }
    }

    /// Starts the supervisor of an attempt, as a process that outlives the watcher.
    fn start(&mut self, served: &Served, dates: &mut Dates, run: Run) {
        if self.gate.admit(&run) {
            let spawned = self.supervisors.spawn(served, &run).inspect(|()| supervisors::show(&served.mailbox, &run));
            self.note_started(served, dates, &run, spawned);
        } else {
            self.ready.push_front(run);
        }
    }

    /// Starts the supervisor of a new claim while the attempt's record is being written. The supervisor waits for the record.
    fn start_claimed(&mut self, served: &Served, dates: &mut Dates, claim: Claim<Taken>) {
        if !served.scope.is_service() {
            let answered = served.mailbox.document(Folder::Answered, &claim.run.workflow_id);
            return match claim.put_on_record(&served.mailbox).map(Claim::hand_over) {
                Ok(run) => self.start(served, dates, run),
                Err(e) => dates.retry(answered, &e),
            };
        }
        let run = claim.run.clone();
        let spawned = self.gate.admit(&run).then(|| self.supervisors.spawn(served, &run));
        let answered = served.mailbox.document(Folder::Answered, &run.workflow_id);
        // From now on the supervisor can take the round's lock.
        let recorded = claim.put_on_record(&served.mailbox).map(Claim::hand_over);
        match (spawned, recorded.is_ok()) {
            // A supervisor that finds no record ends at once.
            (Some(spawned), _) => self.note_started(served, dates, &run, spawned),
            (None, true) => self.ready.push_front(run),
            (None, false) => {}
        }
        if let Err(e) = recorded {
            dates.retry(answered, &e);
        }
    }

    fn note_started(&mut self, served: &Served, dates: &mut Dates, run: &Run, spawned: Result<()>) {
        match spawned {
            Ok(()) => self.supervisors.started(run),
            Err(e) => {
                dates.retry(served.mailbox.round(Folder::Running, &run.round()), &e);
                self.gate.not_started(run);
            }
        }
    }
}
