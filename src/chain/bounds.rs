//! How deep and how wide a tree may grow, and which ids a new child may have.

use crate::chain::whole_tree;
use crate::error::{Error, Result};
use crate::id::WorkflowId;
use crate::mailbox::documents::workflow;
use crate::mailbox::{Mailbox, WorkflowLock, awaits, close};

/// The limits in force (`chain.max_depth` and `chain.max_children`).
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// The number of levels of a tree; the root is level 1.
    pub depth: usize,
    /// The number of children that one parent may wait for.
    pub children: usize,
}

/// Refuses a child of `parent` that would lie below the deepest level.
pub fn depth(mailbox: &Mailbox, bounds: Bounds, parent: &WorkflowId) -> Result<()> {
    let level = whole_tree::ancestors(mailbox, parent)?.len() + 2;
    if level > bounds.depth {
        return Err(Error::conflict(
            format!("{parent} is on level {} of its tree, and chain.max_depth is {}", level - 1, bounds.depth),
            "do the work in this session, or let the operator raise chain.max_depth",
        ));
    }
    Ok(())
}

/// Refuses another child of a parent that already waits for the largest number. The caller holds the parent's lock.
pub fn breadth(mailbox: &Mailbox, bounds: Bounds, lock: &WorkflowLock) -> Result<()> {
    let waiting = awaits::of_parent(mailbox, lock.workflow())?.len();
    if waiting >= bounds.children {
        return Err(Error::conflict(
            format!("{} waits for {waiting} workflows already, and chain.max_children is {}", lock.workflow(), bounds.children),
            "end your turn and go on when they are done, or let the operator raise chain.max_children",
        ));
    }
    Ok(())
}

/// Refuses the id of a workflow that exists, and above all of an ancestor: parent and child would wait for each other.
pub fn is_new(mailbox: &Mailbox, parent: Option<&WorkflowId>, child: &WorkflowId) -> Result<()> {
    if let Some(parent) = parent
        && (parent == child || whole_tree::ancestors(mailbox, parent)?.contains(child))
    {
        return Err(Error::conflict(
            format!(
                "{child} is {}: the two workflows would wait for each other for ever",
                if parent == child { "this workflow itself" } else { "an ancestor" }
            ),
            "leave -w out: a new workflow gets a new id",
        ));
    }
    if workflow::read(mailbox, child)?.is_some() || close::latest_round(mailbox, child).is_some() {
        return Err(Error::conflict(
            format!("there is a workflow {child} already"),
            format!("to get its result: relaunch resume {child}; for a new workflow leave -w out"),
        ));
    }
    Ok(())
}
