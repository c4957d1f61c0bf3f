//! Waking parents whose children have ended.

use crate::chain::wake;
use crate::error::Result;
use crate::log;
use crate::run::attempt::record::Run;
use crate::watch::watcher::Watcher;

impl Watcher<'_> {
    /// Wakes the parents of the workflows that changed since the last call.
    pub(in crate::watch) fn wake_parents_of_changed(&mut self) {
        for workflow in std::mem::take(&mut self.changed) {
            match wake::after_change(&self.mailbox, &self.config, &workflow) {
                Ok(runs) => self.add_woken(runs),
                // The next look at everything tries again.
                Err(e) => log::error(&e),
            }
        }
    }

    /// Wakes every parent that can be woken.
    pub(in crate::watch) fn wake_all_parents(&mut self) -> Result<()> {
        let runs = wake::all_parents(&self.mailbox, &self.config)?;
        self.add_woken(runs);
        Ok(())
    }

    fn add_woken(&mut self, runs: Vec<Run>) {
        for run in runs {
            tracing::info!(event = "woken", workflow = %run.workflow_id, "what it started has ended");
            let round = run.round();
            if !self.live.contains(&round) && !self.ready.iter().any(|r| r.round() == round) {
                self.ready.push_back(run);
            }
        }
    }
}
