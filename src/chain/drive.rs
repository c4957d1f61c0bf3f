//! Starting every run of one tree that can start: what the watcher does for all workflows, done once for one tree.

use crate::chain::{outcome, wake};
use crate::config::Config;
use crate::disk;
use crate::error::Result;
use crate::id::WorkflowId;
use crate::mailbox::{Folder, Mailbox, lineage};
use crate::run::claim::{self, By, ClaimAttempt};
use crate::run::recovery::{self, Recovered};
use crate::run::supervise::detach;

/// Starts every run at or below a workflow that can start: wake-ups of parents, answered rounds, rounds without a supervisor.
pub fn drive(mailbox: &Mailbox, config: &Config, root: &WorkflowId) -> Result<()> {
    for workflow in lineage::members(mailbox, root)? {
        let mut runs = Vec::new();
        wake::after_change(mailbox, config, &workflow, |run| runs.push(run))?;
        if disk::exists(mailbox.document(Folder::Answered, &workflow))
            && let ClaimAttempt::Claimed(claim) = claim::claim(mailbox, &workflow, By::Supervisor(config))?
        {
            runs.push(claim.hand_over());
        } else {
            take_up(mailbox, config, &workflow)?;
        }
        runs.iter().try_for_each(|run| detach::start(mailbox, run))?;
    }
    Ok(())
}

/// Starts a supervisor for a claimed round that has none.
pub fn take_up(mailbox: &Mailbox, config: &Config, workflow: &WorkflowId) -> Result<()> {
    let Some(round) = outcome::claimed_round(mailbox, workflow) else { return Ok(()) };
    match recovery::recover(mailbox, config, &round)? {
        Recovered::Launch(run) | Recovered::Claimed(run) => detach::start(mailbox, &run),
        _ => Ok(()),
    }
}
