//! A tree of workflows as a whole: given up, or stopped.

use crate::error::{Error, Result};
use crate::id::WorkflowId;
use crate::mailbox::audit::{self, Entry};
use crate::mailbox::documents::workflow;
use crate::mailbox::{Mailbox, awaits, close};
use crate::time;

pub use crate::mailbox::lineage::{ancestors, members, parent};

/// Takes back every question at or below a workflow, and lets nobody in the tree be woken any more. Returns whose questions
/// were taken back.
pub fn cancel(mailbox: &Mailbox, root: &WorkflowId, by: &str, why: Option<&str>) -> Result<Vec<WorkflowId>> {
    let members = members(mailbox, root)?;
    // From above: once a parent is given up, nothing that ends below wakes it.
    for member in &members {
        let lock = mailbox.lock(member)?;
        for wait in awaits::of_parent(mailbox, member)? {
            awaits::remove(mailbox, &lock, &wait.typed.child)?;
        }
        if workflow::read(mailbox, member)?.is_some() {
            workflow::update(mailbox, &lock, |w| w.cancelled = Some(time::now()))?;
        }
    }
    let mut withdrawn = Vec::new();
    for member in members {
        match close::withdraw(mailbox, &member, by, why.map(str::to_owned)) {
            Ok(_) => withdrawn.push(member),
            Err(Error::NotFound { .. } | Error::Conflict { .. }) => {}
            Err(e) => return Err(e),
        }
    }
    audit::record(mailbox, Entry { workflow_id: Some(root.clone()), ..Entry::about("cancelled_tree") }.by(by).why(why.unwrap_or_default()));
    Ok(withdrawn)
}

/// From now on it is no news in this tree that a child is stopped: its parent waits until it goes on.
pub fn be_patient(mailbox: &Mailbox, members: &[WorkflowId]) -> Result<()> {
    for member in members {
        let lock = mailbox.lock(member)?;
        for mut wait in awaits::of_parent(mailbox, member)? {
            wait.typed.patient = true;
            awaits::write(mailbox, &lock, wait)?;
        }
    }
    Ok(())
}
