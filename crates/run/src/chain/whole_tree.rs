//! Cancels or stops a workflow together with everything below it.

use askbox_mailbox::audit::{self, Entry};
use askbox_mailbox::family::lineage::Family;
use askbox_mailbox::transitions::withdraw;
use askbox_mailbox::{Error, Mailbox, Result, WorkflowId, awaits, lineage, time, workflows};

/// Withdraws every open question at or below a workflow, and removes every await, so that nothing in the tree wakes a parent.
/// Returns the workflows whose question was withdrawn.
pub fn cancel(mailbox: &Mailbox, root: &WorkflowId, by: &str, why: Option<&str>) -> Result<Vec<WorkflowId>> {
    let members = Family::with_open_questions(mailbox)?.members(root)?;
    // Parents first: once a parent has no awaits, no child that ends can wake it.
    for member in &members {
        let lock = mailbox.lock(member)?;
        for wait in awaits::of_parent(mailbox, member)? {
            awaits::remove(mailbox, &lock, &wait.typed.child)?;
        }
        if workflows::read(mailbox, member)?.is_some() {
            workflows::update(mailbox, &lock, |w| w.cancelled = Some(time::now()))?;
        }
    }
    let mut withdrawn = Vec::new();
    for member in members {
        match withdraw::withdraw(mailbox, &member, by, why.map(str::to_owned)) {
            Ok(_) => withdrawn.push(member),
            Err(Error::NotFound { .. } | Error::Conflict { .. }) => {}
            Err(e) => return Err(e),
        }
    }
    audit::record(mailbox, Entry { workflow_id: Some(root.clone()), ..Entry::about("cancelled_tree") }.by(by).why(why.unwrap_or_default()));
    Ok(withdrawn)
}

/// Stops every run at or below a workflow, each by `stop_one`. No parent is woken because its child was stopped.
///
/// # Errors
/// [`Error::NotFound`] if no run was stopped. `stop_one` reports [`Error::NotFound`] or [`Error::Conflict`] for a workflow without a
/// live run. It reports [`Error::Waiting`] for a run that does not end in time, and [`Error::Held`] for a workflow whose lock another
/// process keeps. These two are returned after the walk. Any other error ends the walk.
pub fn stop(mailbox: &Mailbox, root: &WorkflowId, mut stop_one: impl FnMut(&WorkflowId) -> Result<()>) -> Result<()> {
    let members = lineage::members(mailbox, root)?;
    let (mut stopped, mut hanging) = (0, ignore_stopped_children(mailbox, &members)?);
    // Parents first: a parent that is stopped starts no more children.
    for member in &members {
        match stop_one(member) {
            Ok(()) => stopped += 1,
            Err(Error::NotFound { .. } | Error::Conflict { .. }) => {}
            Err(e @ (Error::Waiting { .. } | Error::Held { .. })) => hanging = Some(e),
            Err(e) => return Err(e),
        }
    }
    if let Some(hanging) = hanging {
        return Err(hanging);
    }
    if stopped == 0 {
        return Err(Error::not_found(format!("no run at or below {root} is live"), format!("see where it stands: relaunch status {root}")));
    }
    Ok(())
}

/// Sets `patient` in every await of these parents: a child that is stopped has not ended, and its parent goes on waiting. If another
/// process keeps the lock of a parent, that parent is left out and returned as an error.
fn ignore_stopped_children(mailbox: &Mailbox, parents: &[WorkflowId]) -> Result<Option<Error>> {
    let mut held = None;
    for parent in parents {
        let lock = match mailbox.lock(parent) {
            Err(e) if e.is_held() => {
                held = Some(e);
                continue;
            }
            other => other?,
        };
        for mut wait in awaits::of_parent(mailbox, parent)? {
            wait.typed.patient = true;
            awaits::write(mailbox, &lock, wait)?;
        }
    }
    Ok(held)
}
