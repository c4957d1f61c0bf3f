//! Claimed rounds that have no supervisor.

use std::path::PathBuf;

use crate::dates::{Dates, pause_after};
use crate::launch::launches::Launches;
use crate::launch::supervisors::{self, CLAIM_GRACE};
use crate::scope::Served;
use askbox_mailbox::{Due, Error, Folder, Result, RoundId, Timer, awaits, time};
use askbox_run::Run;
use askbox_run::recovery::{self, Recovered};
use askbox_run::supervise::detach;

/// True if `relaunch spawn` has left the start of this child to the watcher.
fn is_left_to_watcher(served: &Served, run: &Run) -> bool {
    let is_awaited = || awaits::of_child(&served.mailbox, &run.workflow_id).is_ok_and(|waits| !waits.is_empty());
    served.scope.is_service() && run.attempt == 1 && is_awaited()
}

impl Launches {
    /// Handles the end of a run: finds out what its round needs, and does it. Returns the run, if it has ended.
    pub(crate) fn run_ended(&mut self, served: &Served, dates: &mut Dates, round: &RoundId) -> Option<Run> {
        let ended = self.observe_end(served, round);
        self.recover(served, dates, round);
        ended
    }

    /// Handles the end of a recovery that had to wait for processes of an earlier attempt.
    pub(crate) fn recovered(&mut self, served: &Served, dates: &mut Dates, round: &RoundId, recovered: Result<Recovered>) {
        self.orphans.rounds.remove(round);
        self.apply_recovery(served, dates, round, recovered);
    }

    pub(crate) fn recover_unless_live(&mut self, served: &Served, dates: &mut Dates, round: &RoundId) {
        if !self.is_live(round) {
            self.recover(served, dates, round);
        }
    }

    /// Finds out what a round in `running/` needs, and does it.
    pub(crate) fn recover(&mut self, served: &Served, dates: &mut Dates, round: &RoundId) {
        if !served.serves(&round.workflow) {
            // Another tree's round matters only because a workflow waits for its end.
            if supervisors::is_supervised(&served.mailbox, round) {
                self.supervisors.wait_for_end(served, dates, round);
            }
        } else if !self.orphans.rounds.contains(round) {
            let recovered = recovery::recover_at_once(&served.mailbox, &served.config, round);
            self.apply_recovery(served, dates, round, recovered);
        }
    }

    /// Acts on the outcome of a recovery.
    fn apply_recovery(&mut self, served: &Served, dates: &mut Dates, round: &RoundId, recovered: Result<Recovered>) {
        let path = served.mailbox.round(Folder::Running, round);
        let failed_before = self.unrecovered.remove(round);
        match recovered {
            Ok(Recovered::Live) => self.supervisors.wait_for_end(served, dates, round),
            Ok(Recovered::Later(at)) => dates.add(Timer { at, due: Due::Retry, round: round.clone() }),
            Ok(Recovered::Launch(run)) => self.ready.push_back(*run),
            Ok(Recovered::Claimed(run)) => {
                let age = time::since(run.claimed_at);
                if self.is_ready(round) {
                    // This watcher claimed it, and it waits for its turn.
                } else if !is_left_to_watcher(served, &run) && time::is_near(run.claimed_at, CLAIM_GRACE) {
                    dates.look_later(path, CLAIM_GRACE.saturating_sub(age));
                } else {
                    self.start_again(served, dates, *run, path);
                }
            }
            Ok(Recovered::Orphans) => self.orphans.end(served, dates, round),
            // An answer to the workflow's next question may have waited for this.
            Ok(Recovered::Over) => {
                self.supervisors.starts.remove(round);
                self.enqueue(served, &round.workflow);
            }
            Err(e @ Error::Invalid { .. }) if failed_before => {
                tracing::warn!(event = "set_aside", workflow = %round.workflow, "its recovery has failed twice: {e}");
                match recovery::set_aside(&served.mailbox, &served.config, round, &e) {
                    Ok(()) => self.enqueue(served, &round.workflow),
                    Err(e) => dates.look_later(path, pause_after(&e)),
                }
            }
            Err(e) => {
                if matches!(e, Error::Invalid { .. }) {
                    self.unrecovered.insert(round.clone());
                }
                dates.look_later(path, pause_after(&e));
            }
        }
    }

    /// Starts an attempt that nobody supervises. If its supervisors ended before they owned it, the pause before the next one grows.
    fn start_again(&mut self, served: &Served, dates: &mut Dates, run: Run, path: PathBuf) {
        let pause = self.supervisors.pause_before_restart(&run);
        if pause.is_zero() {
            return self.ready.push_back(run);
        }
        let log = detach::log(&served.mailbox, &run.round(), run.attempt);
        let (workflow, wait) = (&run.workflow_id, time::human(pause));
        tracing::warn!(event = "restart", %workflow, "its supervisor ended at once; another one is started in {wait}: see {}", log.display());
        dates.look_later(path, pause);
    }
}
