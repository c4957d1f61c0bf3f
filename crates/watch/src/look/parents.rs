//! Wakes parents whose children have ended.

use std::collections::BTreeSet;

use crate::dates::{Dates, pause_after};
use crate::launch::launches::Launches;
use crate::scope::Served;
use askbox_mailbox::{Error, Folder, Result, WorkflowId, awaits};
use askbox_run::chain::wake;

/// The parents that may have to be woken.
#[derive(Debug, Default)]
pub(crate) struct Parents {
    /// Workflows that changed. Their parents may have to be told.
    changed: BTreeSet<WorkflowId>,
}

impl Parents {
    pub(crate) fn note_changed(&mut self, workflow: WorkflowId) {
        self.changed.insert(workflow);
    }

    /// Wakes the parents of the workflows that changed since the last call.
    pub(crate) fn wake_changed(&mut self, served: &Served, dates: &mut Dates, launches: &mut Launches) {
        for workflow in std::mem::take(&mut self.changed) {
            let mut runs = Vec::new();
            let told = wake::after_change(&served.mailbox, &served.config, &workflow, |parent| served.serves(parent), |run| runs.push(run));
            runs.into_iter().for_each(|run| launches.add_woken(run));
            if let Err(e) = told {
                tell_parents_later(served, dates, &workflow, &e);
            }
        }
    }
}

/// Wakes every parent that can be woken. An await that cannot be read only holds up its own parent.
pub(crate) fn wake_all(served: &Served, dates: &mut Dates, launches: &mut Launches) -> Result<()> {
    for parent in awaits::folders(&served.mailbox)? {
        match wake::note_ends_and_wake(&served.mailbox, &served.config, &parent) {
            Ok(run) => run.into_iter().for_each(|run| launches.add_woken(run)),
            Err(e) => tell_parents_later(served, dates, &parent, &e),
        }
    }
    Ok(())
}

/// Tries again soon if a lock is held. After any other error, the next look at everything tries again.
fn tell_parents_later(served: &Served, dates: &mut Dates, workflow: &WorkflowId, error: &Error) {
    let pause = pause_after(error);
    if error.is_held() {
        // When the watcher looks at a path in this folder, it tells the parents.
        dates.look_later(served.mailbox.folder(Folder::Awaits).join(workflow.as_str()), pause);
    }
}
