//! Who is whose parent, read from the workflows' records, the questions that wait, and the awaits.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::{Error, Result};
use crate::id::WorkflowId;
use crate::mailbox::audit::{self, Entry};
use crate::mailbox::{Folder, Mailbox, awaits, close, intake, list, workflow};
use crate::time;

/// The longest line of ancestors that is followed: a damaged record must not lead us round and round.
const LONGEST: usize = 10_000;

/// The parent of a workflow, as its record says.
pub fn parent(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<Option<WorkflowId>> {
    Ok(workflow::read(mailbox, workflow)?.and_then(|d| d.typed.parent))
}

/// The ancestors of a workflow, its parent first.
pub fn ancestors(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<Vec<WorkflowId>> {
    let (mut line, mut at) = (Vec::new(), workflow.clone());
    while let Some(above) = parent(mailbox, &at)? {
        if above == *workflow || line.contains(&above) || line.len() >= LONGEST {
            break;
        }
        line.push(above.clone());
        at = above;
    }
    Ok(line)
}

/// A workflow and everything below it, parents before their children. Reads every record: for people, not for the hot path.
pub fn members(mailbox: &Mailbox, root: &WorkflowId) -> Result<Vec<WorkflowId>> {
    let mut children: BTreeMap<WorkflowId, BTreeSet<WorkflowId>> = BTreeMap::new();
    for child in list::workflows(mailbox, Folder::Workflows)? {
        if let Some(parent) = parent(mailbox, &child)? {
            children.entry(parent).or_default().insert(child);
        }
    }
    for child in list::workflows(mailbox, Folder::Pending)? {
        if let Some(parent) = intake::read_pending(mailbox, &child).ok().and_then(|d| d.typed.parent) {
            children.entry(parent).or_default().insert(child);
        }
    }
    for parent in awaits::parents(mailbox)? {
        let below = awaits::of_parent(mailbox, &parent)?.into_iter().map(|w| w.typed.child);
        children.entry(parent).or_default().extend(below);
    }
    let mut found = vec![root.clone()];
    let mut next = 0;
    while let Some(at) = found.get(next) {
        let below: Vec<_> = children.get(at).into_iter().flatten().filter(|c| !found.contains(c)).cloned().collect();
        found.extend(below);
        next += 1;
    }
    Ok(found)
}

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
