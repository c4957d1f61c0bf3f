//! Starting supervisor processes, and noticing their end.

use std::time::{Duration, Instant};

use crate::disk::Lock;
use crate::error::Result;
use crate::id::RoundId;
use crate::mailbox::Folder;
use crate::run::attempt::record::{self, Run, State};
use crate::run::claim::{Claim, Taken};
use crate::run::supervise::detach;
use crate::thread::Waiting;
use crate::watch::messages::WatchMessage;
use crate::watch::watcher::{RETRY_AFTER, Starts, Watcher};
use crate::{log, text, thread};

/// The pause after a supervisor ended before it owned its attempt, such as for a record that it cannot read.
const RESTART_AFTER: Duration = Duration::from_secs(3);
const LONGEST_RESTART: Duration = Duration::from_secs(600);

impl Watcher<'_> {
    /// Starts the supervisor of an attempt, as a process that outlives the watcher.
    pub(super) fn start(&mut self, run: Run) {
        if self.gate.admit(&run) {
            let spawned = self.spawn(&run).inspect(|()| self.show(&run));
            self.note_started(&run, spawned);
        } else {
            self.ready.push_front(run);
        }
    }

    /// Starts the supervisor of a new claim while the attempt's record is being written: the supervisor waits for the record.
    pub(super) fn start_claimed(&mut self, claim: Claim<Taken>) {
        if !self.scope.is_service() {
            let answered = self.mailbox.document(Folder::Answered, &claim.run.workflow_id);
            return match claim.put_on_record(&self.mailbox).map(Claim::hand_over) {
                Ok(run) => self.start(run),
                Err(e) => {
                    log::error(&e);
                    self.look_later(answered, RETRY_AFTER);
                }
            };
        }
        let run = claim.run.clone();
        let spawned = self.gate.admit(&run).then(|| self.spawn(&run));
        let answered = self.mailbox.document(Folder::Answered, &run.workflow_id);
        // From here on the supervisor can take the round's lock.
        let recorded = claim.put_on_record(&self.mailbox).map(Claim::hand_over);
        match (spawned, recorded.is_ok()) {
            // A supervisor that finds no record ends at once.
            (Some(spawned), _) => self.note_started(&run, spawned),
            (None, true) => self.ready.push_front(run),
            (None, false) => {}
        }
        if let Err(e) = recorded {
            log::error(&e);
            self.look_later(answered, RETRY_AFTER);
        }
    }

    /// Starts the process, and lets a thread wait for its end. The thread exists first: the end of every process must be noticed.
    /// A command that waits for one tree may have been called by an agent. The supervisor must not look like a process that this agent has
    /// started, and is no child of the command: its lock shows its end.
    fn spawn(&self, run: &Run) -> Result<()> {
        let waiting = Waiting::start()?;
        let (sender, round) = (self.sender.clone(), run.round());
        let ended = move || drop(sender.send(WatchMessage::RunEnded(round)));
        if self.scope.is_service() {
            let mut child = detach::command(&self.mailbox, run)?.spawn().map_err(detach::failed)?;
            waiting.run(move || {
                let _ = child.wait();
                ended();
            });
        } else {
            detach::start(&self.mailbox, run)?;
            let (mailbox, run) = (self.mailbox.clone(), run.clone());
            waiting.run(move || {
                match detach::wait_until_owned(&mailbox, &run) {
                    Ok(()) => drop(Lock::wait_until_free(&record::lock_path(&mailbox, &run.round()))),
                    Err(e) => log::error(&e),
                }
                ended();
            });
        }
        Ok(())
    }

    fn note_started(&mut self, run: &Run, spawned: Result<()>) {
        let round = run.round();
        match spawned {
            Ok(()) => {
                let (attempt, session) = (run.attempt, run.plan.session_id);
                tracing::info!(event = "launched", workflow = %round.workflow, attempt, %session, "attempt {attempt}, session {session}");
                self.count_start(&round, attempt);
                self.live.insert(round);
            }
            Err(e) => {
                log::error(&e);
                self.gate.not_started(run);
                self.look_later(self.mailbox.round(Folder::Running, &round), RETRY_AFTER);
            }
        }
    }

    fn count_start(&mut self, round: &RoundId, attempt: u32) {
        let earlier = self.starts.get(round).filter(|starts| starts.attempt == attempt).map_or(0, |starts| starts.count);
        self.starts.insert(round.clone(), Starts { attempt, count: earlier + 1, last: Instant::now() });
    }

    /// How long to wait before the supervisor of this attempt is started once more: each that ended before it owned the attempt doubles
    /// the pause.
    pub(super) fn pause_before_restart(&self, run: &Run) -> Duration {
        let Some(starts) = self.starts.get(&run.round()).filter(|starts| starts.attempt == run.attempt) else { return Duration::ZERO };
        let pause = RESTART_AFTER.saturating_mul(1 << (starts.count - 1).min(16)).min(LONGEST_RESTART);
        pause.saturating_sub(starts.last.elapsed())
    }

    /// Waits, in a thread of its own, for the end of a run that another process supervises: its lock becomes free.
    pub(super) fn wait_for_end(&mut self, round: &RoundId) {
        if self.live.contains(round) {
            return;
        }
        let (path, sender, ended) = (record::lock_path(&self.mailbox, round), self.sender.clone(), round.clone());
        let waits = thread::start(move || {
            let _ = Lock::wait_until_free(&path);
            let _ = sender.send(WatchMessage::RunEnded(ended));
        });
        match waits {
            Ok(_) => drop(self.live.insert(round.clone())),
            Err(e) => {
                log::error(&e);
                self.look_later(self.mailbox.round(Folder::Running, round), RETRY_AFTER);
            }
        }
    }

    /// Whether a process holds the round's run lock.
    pub(in crate::watch) fn is_live(&self, round: &RoundId) -> bool {
        Lock::is_held(&record::lock_path(&self.mailbox, round)).unwrap_or(false)
    }

    /// Counts how a run ended, for the metrics and the breaker.
    pub(in crate::watch) fn count_ended_run(&mut self, round: &RoundId) {
        match record::latest(&self.mailbox, round) {
            Ok(Some(run)) => {
                if self.scope.is_service() {
                    log_end(&run);
                }
                self.metrics.count(&run);
                self.gate.observe(&[run]);
            }
            Ok(None) => {}
            Err(e) => log::error(&e),
        }
        self.gate.end_dead_probe();
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
