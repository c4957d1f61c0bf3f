//! Looking for a workflow's result. No model is called for the look itself.

use std::time::Instant;

use crate::chain::drive;
use crate::chain::outcome::{self, OwnState, TreeState};
use crate::chain::progress::{self, Progress};
use crate::config::Config;
use crate::error::Result;
use crate::id::WorkflowId;
use crate::mailbox::documents::awaited::Ended;
use crate::mailbox::{Mailbox, presence, round};
use crate::run::view::status;

/// What a look for a workflow's result found.
#[derive(Debug)]
pub enum Resumed {
    /// The workflow has ended.
    Ended(Ended),
    /// The workflow worked during this call, and now waits for something new.
    WaitsAgain,
    /// The workflow waits for what it waited for before, or still works at the deadline.
    Ongoing,
}

/// Looks for a workflow's result, and waits for it while the workflow works. Where no watcher runs, this starts whatever can go
/// on at or below the workflow.
///
/// # Errors
/// [`crate::Error::NotFound`] where nothing is known of the workflow.
pub fn resume(mailbox: &Mailbox, config: &Config, workflow: &WorkflowId, deadline: Instant) -> Result<Resumed> {
    let is_known = outcome::own_state(mailbox, workflow)? != OwnState::Unknown;
    if !is_known && round::latest(mailbox, workflow).is_none() {
        return Err(status::unknown(workflow));
    }
    let drive_unwatched = || if presence::anybody(mailbox)? { Ok(()) } else { drive::drive(mailbox, config, workflow) };
    match outcome::tree_state(mailbox, workflow)? {
        TreeState::Ended(ended) => Ok(Resumed::Ended(ended)),
        TreeState::Asking => {
            drive_unwatched()?;
            Ok(Resumed::Ongoing)
        }
        TreeState::Working => Ok(match progress::wait(mailbox, workflow, deadline, drive_unwatched)? {
            Progress::Ended(ended) => Resumed::Ended(ended),
            Progress::Asking => Resumed::WaitsAgain,
            Progress::StillWorking => Resumed::Ongoing,
        }),
    }
}
