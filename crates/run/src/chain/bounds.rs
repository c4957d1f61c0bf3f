//! The bounds of a tree: how deep and how wide it may grow, and which ids a new child may have.

use askbox_config::Chain;
use askbox_mailbox::{Error, Mailbox, Result, WorkflowId, WorkflowLock, awaits, lineage, round, workflows};

/// Refuses a child of `parent` that would lie below the deepest level.
pub(super) fn check_depth(mailbox: &Mailbox, limits: &Chain, parent: &WorkflowId) -> Result<()> {
    let level = lineage::ancestors(mailbox, parent)?.len() + 2;
    if level > limits.max_depth {
        return Err(Error::conflict(
            format!("{parent} is on level {} of its tree, and chain.max_depth is {}", level - 1, limits.max_depth),
            "do the work in this session, or let the operator raise chain.max_depth",
        ));
    }
    Ok(())
}

/// Refuses another child of a parent that already waits for the largest number. The caller holds the parent's lock.
pub(super) fn check_breadth(mailbox: &Mailbox, limits: &Chain, lock: &WorkflowLock) -> Result<()> {
    let waiting = awaits::of_parent(mailbox, lock.workflow())?.len();
    if waiting >= limits.max_children {
        return Err(Error::conflict(
            format!("{} waits for {waiting} workflows already, and chain.max_children is {}", lock.workflow(), limits.max_children),
            "end your turn and go on when they are done, or let the operator raise chain.max_children",
        ));
    }
    Ok(())
}

/// Refuses the id of a workflow that exists. An ancestor's id would be the worst: parent and child would wait for each other.
pub(super) fn check_is_new(mailbox: &Mailbox, parent: Option<&WorkflowId>, child: &WorkflowId) -> Result<()> {
    if let Some(parent) = parent
        && (parent == child || lineage::ancestors(mailbox, parent)?.contains(child))
    {
        return Err(Error::conflict(
            format!(
                "{child} is {}: the two workflows would wait for each other for ever",
                if parent == child { "this workflow itself" } else { "an ancestor" }
            ),
            "leave -w out: a new workflow gets a new id",
        ));
    }
    if workflows::read(mailbox, child)?.is_some() || round::latest(mailbox, child).is_some() {
        let hint = format!("to get its result: relaunch resume {child}; for a new workflow leave -w out");
        return Err(Error::conflict(format!("there is a workflow {child} already"), hint));
    }
    Ok(())
}
