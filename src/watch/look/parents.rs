//! Waking parents whose children have ended.

use crate::chain::wake;
use crate::error::{Error, Result};
use crate::id::WorkflowId;
use crate::mailbox::Folder;
use crate::mailbox::family::awaits;
use crate::run::attempt::record::Run;
use crate::watch::watcher::{Watcher, pause_after};

impl Watcher<'_> {
    /// Wakes the parents of the workflows that changed since the last call.
    pub(in crate::watch) fn wake_parents_of_changed(&mut self) {
        for workflow in std::mem::take(&mut self.changed) {
            let mut runs = Vec::new();
            let told = wake::after_change(&self.mailbox, &self.config, &workflow, |parent| self.serves(parent), |run| runs.push(run));
            runs.into_iter().for_each(|run| self.add_woken(run));
            if let Err(e) = told {
                self.tell_parents_later(&workflow, &e);
            }
        }
    }

    /// Wakes every parent that can be woken. An await that cannot be read holds up only its own parent.
    pub(in crate::watch) fn wake_all_parents(&mut self) -> Result<()> {
        for parent in awaits::folders(&self.mailbox)? {
            match wake::note_ends_and_wake(&self.mailbox, &self.config, &parent) {
                Ok(run) => run.into_iter().for_each(|run| self.add_woken(run)),
                Err(e) => self.tell_parents_later(&parent, &e),
            }
        }
        Ok(())
    }

    /// After any other error than a held lock, the next look at everything tries again.
    fn tell_parents_later(&mut self, workflow: &WorkflowId, error: &Error) {
        let pause = pause_after(error);
        if error.is_held() {
            // What the watcher does about a path in this folder is to tell the parents.
            self.look_later(self.mailbox.folder(Folder::Awaits).join(workflow.as_str()), pause);
        }
    }

    fn add_woken(&mut self, run: Run) {
        tracing::info!(event = "woken", workflow = %run.workflow_id, "what it started has ended");
        let round = run.round();
        if !self.live.contains(&round) && !self.ready.iter().any(|r| r.round() == round) {
            self.ready.push_back(run);
        }
    }
}
