//! Waking parents whose children have ended.

use std::collections::HashSet;

use crate::chain::wake;
use crate::error::Result;
use crate::id::WorkflowId;
use crate::mailbox::{Mailbox, awaits};
use crate::run::claim::record::Run;
use crate::watch::Watch;

impl Watch<'_> {
    /// Tells whoever waits for the workflows that something happened to.
    pub(super) fn settle_chains(&mut self) {
        for workflow in std::mem::take(&mut self.chains) {
            match wake::after_change(&self.mailbox, &self.config, &workflow) {
                Ok(runs) => self.woken(runs),
                // The next look around tries again.
                Err(e) => self.tell(&e),
            }
        }
    }

    /// [`Self::settle_chains`] for all.
    pub(super) fn settle_all_chains(&mut self) -> Result<()> {
        let runs = wake::all_parents(&self.mailbox, &self.config)?;
        self.woken(runs);
        Ok(())
    }

    fn woken(&mut self, runs: Vec<Run>) {
        for run in runs {
            tracing::info!(event = "woken", workflow = %run.workflow_id, "what it started has ended");
            let round = run.round();
            if !self.live.contains(&round) && !self.ready.iter().any(|r| r.round() == round) {
                self.ready.push_back(run);
            }
        }
    }

    /// How many of the live runs are at work. One that only waits for its child would otherwise keep it from being recovered.
    pub(super) fn at_work(&self) -> usize {
        if self.live.len() < self.config.relaunch.max_concurrent {
            return self.live.len();
        }
        let waiting = waiting_inline(&self.mailbox).unwrap_or_default();
        self.live.iter().filter(|round| !waiting.contains(&round.workflow)).count()
    }
}

fn waiting_inline(mailbox: &Mailbox) -> Result<HashSet<WorkflowId>> {
    let mut waiting = HashSet::new();
    for parent in awaits::parents(mailbox)? {
        for wait in awaits::of_parent(mailbox, &parent)? {
            if awaits::is_held(mailbox, &parent, &wait.typed.child)? {
                waiting.insert(parent.clone());
            }
        }
    }
    Ok(waiting)
}
