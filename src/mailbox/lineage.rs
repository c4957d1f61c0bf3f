//! Parents and children of workflows, read from the workflows' records, the open questions and the awaits.

use crate::error::Result;
use crate::id::WorkflowId;
use crate::mailbox::layout::{Folder, Mailbox};
use crate::mailbox::{awaits, list, read_question, workflows};
use crate::time::Time;
use std::collections::{BTreeMap, BTreeSet};

/// The longest line of ancestors that is followed. Damaged records may name each other as parents.
const LONGEST: usize = 10_000;

/// The parent of a workflow, according to its record.
pub fn parent(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<Option<WorkflowId>> {
    Ok(workflows::read(mailbox, workflow)?.and_then(|d| d.typed.parent))
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

/// The root of the tree that a workflow belongs to.
pub fn root(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<WorkflowId> {
    Ok(ancestors(mailbox, workflow)?.pop().unwrap_or_else(|| workflow.clone()))
}

/// The place of a workflow among the others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Kin {
    /// The workflow in whose run it began.
    pub parent: Option<WorkflowId>,
    /// When it began, if known.
    pub born: Option<Time>,
    /// Whether it has a round that is not closed, or waits for another workflow.
    pub open: bool,
}

/// All workflows that have a record, an open round or an await. Reads all records, so it is too slow for every launch. A record that
/// cannot be read counts as one without a parent. A workflow whose question was withdrawn before it ever ran is not included.
pub fn known(mailbox: &Mailbox) -> Result<BTreeMap<WorkflowId, Kin>> {
    let mut known: BTreeMap<WorkflowId, Kin> = BTreeMap::new();
    for id in list::workflows(mailbox, Folder::Workflows)? {
        let record = workflows::read(mailbox, &id).ok().flatten().map(|d| d.typed);
        let kin = record.map(|r| Kin { parent: r.parent, born: r.created, open: false });
        known.insert(id, kin.unwrap_or_default());
    }
    for folder in [Folder::Pending, Folder::Answered] {
        for id in list::workflows(mailbox, folder)? {
            let kin = known.entry(id.clone()).or_default();
            kin.open = true;
            if (kin.parent.is_none() || kin.born.is_none())
                && let Ok(document) = read_question::document(&mailbox.document(folder, &id))
            {
                kin.born = kin.born.or(document.typed.asked_at());
                kin.parent = kin.parent.take().or(document.typed.parent);
            }
        }
    }
    for folder in [Folder::Running, Folder::Parked] {
        for round in list::round_names(mailbox, folder) {
            known.entry(round.workflow).or_default().open = true;
        }
    }
    for parent in awaits::parents(mailbox)? {
        for child in awaits::children(mailbox, &parent)? {
            known.entry(child).or_default().parent.get_or_insert_with(|| parent.clone());
        }
        known.entry(parent).or_default().open = true;
    }
    Ok(known)
}

/// The children of each workflow.
#[must_use]
pub fn children(known: &BTreeMap<WorkflowId, Kin>) -> BTreeMap<&WorkflowId, Vec<&WorkflowId>> {
    let mut children: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for (child, kin) in known {
        if let Some(parent) = &kin.parent {
            children.entry(parent).or_default().push(child);
        }
    }
    children
}

/// A workflow and all its descendants, parents before their children. Reads all records, as [`known`] does.
pub fn members(mailbox: &Mailbox, root: &WorkflowId) -> Result<Vec<WorkflowId>> {
    let known = known(mailbox)?;
    let children = children(&known);
    let (mut found, mut seen) = (vec![root.clone()], BTreeSet::from([root]));
    let mut next = 0;
    while let Some(at) = found.get(next) {
        let below: Vec<_> = children.get(at).into_iter().flatten().copied().filter(|c| seen.insert(c)).cloned().collect();
        found.extend(below);
        next += 1;
    }
    Ok(found)
}
