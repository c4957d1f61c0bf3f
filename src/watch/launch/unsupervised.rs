//! Claimed rounds that have no supervisor. Where processes of an earlier attempt must be ended first, a thread of its own does that:
//! a process that is stuck must not delay other launches.

use std::path::PathBuf;
use std::time::Duration;

use crate::error::Result;
use crate::id::RoundId;
use crate::mailbox::Folder;
use crate::mailbox::due::timers::{Due, Timer};
use crate::run::attempt::record::Run;
use crate::run::recovery::{self, Recovered};
use crate::run::supervise::detach;
use crate::watch::messages::WatchMessage;
use crate::watch::watcher::{RETRY_AFTER, Watcher, pause_after};
use crate::{log, thread, time};

/// A claim younger than this is left to the process that made it, which is about to launch it.
pub(super) const CLAIM_GRACE: Duration = Duration::from_secs(3);

impl Watcher<'_> {
    /// Finds out what a round in `running/` needs, and does it.
    pub(in crate::watch) fn recover(&mut self, round: &RoundId) {
        if !self.serves(&round.workflow) {
            // Only its end matters here: another workflow waits for it.
            if self.is_live(round) {
                self.wait_for_end(round);
            }
        } else if !self.recovering.contains(round) {
            let recovered = recovery::recover_at_once(&self.mailbox, &self.config, round);
            self.apply_recovery(round, recovered);
        }
    }

    /// Acts on the outcome of a recovery.
    pub(in crate::watch) fn apply_recovery(&mut self, round: &RoundId, recovered: Result<Recovered>) {
        let path = self.mailbox.round(Folder::Running, round);
        match recovered {
            Ok(Recovered::Live) => self.wait_for_end(round),
            Ok(Recovered::Later(at)) => {
                self.timers.insert(Timer { at, due: Due::Retry, round: round.clone() });
            }
            Ok(Recovered::Launch(run)) => self.ready.push_back(*run),
            Ok(Recovered::Claimed(run)) => {
                let age = time::since(run.progress.claimed_at);
                if self.ready.iter().any(|r| r.round() == *round) {
                    // This watcher claimed it, and it waits for its turn.
                } else if time::is_near(run.progress.claimed_at, CLAIM_GRACE) {
                    self.look_later(path, CLAIM_GRACE.saturating_sub(age));
                } else {
                    self.start_again(*run, path);
                }
            }
            Ok(Recovered::Orphans) => self.end_orphans(round),
            // An answer to the workflow's next question may have waited for this.
            Ok(Recovered::Over) => {
                self.starts.remove(round);
                self.enqueue(&round.workflow);
            }
            Err(e) => self.look_later(path, pause_after(&e)),
        }
    }

    /// Nobody supervises this attempt. If supervisors of it ended before they owned it, the next one is started later and later.
    fn start_again(&mut self, run: Run, path: PathBuf) {
        let pause = self.pause_before_restart(&run);
        if pause.is_zero() {
            return self.ready.push_back(run);
        }
        let log = detach::log(&self.mailbox, &run.round(), run.attempt);
        let (workflow, wait) = (&run.workflow_id, time::human(pause));
        tracing::warn!(event = "restart", %workflow, "its supervisor ended at once; another one is started in {wait}: see {}", log.display());
        self.look_later(path, pause);
    }

    fn end_orphans(&mut self, round: &RoundId) {
        let (mailbox, config, sender, ended) = (self.mailbox.clone(), self.config.clone(), self.sender.clone(), round.clone());
        let ends = thread::start(move || {
            let recovered = recovery::recover(&mailbox, &config, &ended);
            let _ = sender.send(WatchMessage::Recovered(ended, Box::new(recovered)));
        });
        match ends {
            Ok(_) => drop(self.recovering.insert(round.clone())),
            Err(e) => {
                log::error(&e);
                self.look_later(self.mailbox.round(Folder::Running, round), RETRY_AFTER);
            }
        }
    }
}
