//! Looking for a workflow's result. No model is called for the look itself.

use std::time::Instant;

use crate::chain::outcome::{self, OwnState, TreeState};
use crate::chain::progress::{self, Progress};
use crate::error::Result;
use crate::id::WorkflowId;
use crate::mailbox::documents::awaited::Ended;
use crate::mailbox::{Mailbox, round};
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

/// Looks for a workflow's result, and waits for it while the workflow works. If there is none yet, calls `drive` first: what it
/// returns lets everything at or below the workflow go on, until this returns.
///
/// # Errors
/// [`crate::Error::NotFound`] where nothing is known of the workflow.
pub fn resume<D>(mailbox: &Mailbox, workflow: &WorkflowId, deadline: Instant, drive: impl FnOnce() -> Result<D>) -> Result<Resumed> {
    let is_known = outcome::own_state(mailbox, workflow)? != OwnState::Unknown;
    if !is_known && round::latest(mailbox, workflow).is_none() {
        return Err(status::unknown(mailbox, workflow));
    }
    let before = outcome::tree_state(mailbox, workflow)?;
    if let TreeState::Ended(ended) = before {
        return Ok(Resumed::Ended(ended));
    }
    let _driven = drive()?;
    if before == TreeState::Asking {
        return Ok(Resumed::Ongoing);
    }
    Ok(match progress::wait(mailbox, workflow, Some(deadline))? {
        Progress::Ended(ended) => Resumed::Ended(ended),
        Progress::Asking => Resumed::WaitsAgain,
        Progress::StillWorking => Resumed::Ongoing,
    })
}
