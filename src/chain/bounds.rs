//! How deep and how wide a tree may grow.

use crate::chain::tree;
use crate::error::{Error, Result};
use crate::id::WorkflowId;
use crate::mailbox::documents::workflow;
use crate::mailbox::{Mailbox, WorkflowLock, awaits, close};

/// The limits in force.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Levels of a tree, the first one included.
    pub depth: usize,
    /// For how many children one parent may wait.
    pub children: usize,
}

/// Whether `parent` may start one more child at all.
pub fn depth(mailbox: &Mailbox, bounds: Bounds, parent: &WorkflowId) -> Result<()> {
    let level = tree::ancestors(mailbox, parent)?.len() + 2;
    if level > bounds.depth {
        return Err(Error::conflict(
            format!("{parent} is on level {} of its tree, and chain.max_depth is {}", level - 1, bounds.depth),
            "do the work in this session, or let the operator raise chain.max_depth",
        ));
    }
    Ok(())
}

/// Whether `parent` may wait for one more. Asked under its lock.
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

/// Whether `child` may be started in `parent`'s run: it must be new, and least of all one that waits for `parent`.
pub fn is_new(mailbox: &Mailbox, parent: Option<&WorkflowId>, child: &WorkflowId) -> Result<()> {
    if let Some(parent) = parent
        && (parent == child || tree::ancestors(mailbox, parent)?.contains(child))
    {
        return Err(Error::conflict(
            format!(
                "{child} is {}: the two would wait for each other for ever",
                if parent == child { "this workflow itself" } else { "an ancestor" }
            ),
            "leave -w out: a new workflow gets a new id",
        ));
    }
    if workflow::read(mailbox, child)?.is_some() || close::latest_round(mailbox, child).is_some() {
        return Err(Error::conflict(
            format!("there is a workflow {child} already"),
            format!("its result: relaunch resume {child}; for a new one leave -w out"),
        ));
    }
    Ok(())
}
