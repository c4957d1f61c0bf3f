//! Who is whose parent, read from the workflows' records, the questions that wait, and the awaits.

use std::collections::{BTreeMap, BTreeSet};

use super::layout::{Folder, Mailbox};
use super::{awaits, intake, list, workflow};
use crate::error::Result;
use crate::id::WorkflowId;

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

/// The first workflow of the tree that one belongs to.
pub fn root(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<WorkflowId> {
    Ok(ancestors(mailbox, workflow)?.pop().unwrap_or_else(|| workflow.clone()))
}

/// Every workflow that is known, and its parent. Reads every record: for people, not for the hot path. One that cannot be read
/// has no parent, and hides no other.
pub fn parents(mailbox: &Mailbox) -> Result<BTreeMap<WorkflowId, Option<WorkflowId>>> {
    let mut known: BTreeMap<WorkflowId, Option<WorkflowId>> = BTreeMap::new();
    for child in list::workflows(mailbox, Folder::Workflows)? {
        let parent = parent(mailbox, &child).unwrap_or_default();
        known.insert(child, parent);
    }
    for folder in [Folder::Pending, Folder::Answered] {
        for child in list::workflows(mailbox, folder)? {
            let said = known.entry(child.clone()).or_default();
            if said.is_none() {
                *said = intake::read_round_file(&mailbox.document(folder, &child)).ok().and_then(|d| d.typed.parent);
            }
        }
    }
    for folder in [Folder::Running, Folder::Parked] {
        for round in list::round_names(mailbox, folder) {
            known.entry(round.workflow).or_default();
        }
    }
    for parent in awaits::parents(mailbox)? {
        for child in awaits::children(mailbox, &parent)? {
            known.entry(child).or_default().get_or_insert_with(|| parent.clone());
        }
        known.entry(parent).or_default();
    }
    Ok(known)
}

/// The same, seen from above.
#[must_use]
pub fn children(parents: &BTreeMap<WorkflowId, Option<WorkflowId>>) -> BTreeMap<&WorkflowId, Vec<&WorkflowId>> {
    let mut children: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for (child, parent) in parents {
        if let Some(parent) = parent {
            children.entry(parent).or_default().push(child);
        }
    }
    children
}

/// A workflow and everything below it, parents before their children. Reads what [`parents`] does.
pub fn members(mailbox: &Mailbox, root: &WorkflowId) -> Result<Vec<WorkflowId>> {
    let parents = parents(mailbox)?;
    let children = children(&parents);
    let (mut found, mut seen) = (vec![root.clone()], BTreeSet::from([root]));
    let mut next = 0;
    while let Some(at) = found.get(next) {
        let below: Vec<_> = children.get(at).into_iter().flatten().copied().filter(|c| seen.insert(c)).cloned().collect();
        found.extend(below);
        next += 1;
    }
    Ok(found)
}
