//! The await of a parent that waits for a child in its own turn. It lasts from the beginning of `relaunch spawn` until its caller has
//! an answer. If the spawning process is killed, the await on disk says how far it came.
//!
//! ```text
//! begun        the await exists with `request`, and its lock is held
//! telling      the await has `ended`, marked `perhaps_told`: a wake-up from here on says that the parent may have seen it
//! told         the await is removed: the parent is not woken for this child
//! answered     `request` is removed: the caller knows the child's id and will be woken
//! ```

use std::path::Path;

use serde_json::json;
use uuid::Uuid;

use crate::chain::{bounds, outcome};
use crate::task::Task;
use askbox_config::Chain;
use askbox_mailbox::{Await, Ended, Error, Join, Lock, Mailbox, Result, WorkflowId, awaits, disk, time};

/// The largest instruction file, in bytes, that is compared. A second spawn of a larger one starts a second child.
const MAX_COMPARED: u64 = 1 << 20;

/// One child that a parent waits for in its own turn.
pub struct InTurn<'a> {
    mailbox: &'a Mailbox,
    parent: WorkflowId,
    /// The workflow that the parent awaits.
    pub child: WorkflowId,
    /// While this lock is held, no process wakes the parent.
    _held: Option<Lock>,
}

/// The id of a spawn. The same task with the same words and file content, in the same round of the parent, has the same id. `None` if
/// `run` (the parent's `ASKBOX_RUN`) names no round, or if the file cannot be read or is too large.
pub fn request_id(run: &str, task: &Task, file: Option<&Path>) -> Option<Uuid> {
    let (round, _attempt) = run.rsplit_once('/')?;
    let words = match &task.fork {
        None => json!([round, task.prompt, task.role, task.model, task.cwd]),
        Some(_) => json!([round, task.prompt, task.role, task.model, task.cwd, "fork"]),
    };
    let words = Uuid::new_v5(&Uuid::NAMESPACE_OID, words.to_string().as_bytes());
    let content = if let Some(file) = file { disk::read(file, MAX_COMPARED).ok()? } else { Vec::new() };
    Some(Uuid::new_v5(&words, &content))
}

/// Prints a child's end for a parent that waits for it in its turn, if there is one; otherwise just prints it.
pub fn tell(wait: Option<InTurn<'_>>, ended: &Ended, print: impl FnOnce() -> Result<()>) -> Result<()> {
    if let Some(wait) = wait { wait.tell(ended, print) } else { print() }
}

impl<'a> InTurn<'a> {
    /// Makes the await durable, before the child exists.
    pub fn begin(
        mailbox: &'a Mailbox,
        limits: &Chain,
        parent: &WorkflowId,
        child: &WorkflowId,
        join: Join,
        request: Option<Uuid>,
    ) -> Result<Self> {
        let lock = mailbox.lock(parent)?;
        bounds::check_breadth(mailbox, limits, &lock)?;
        if awaits::read(mailbox, parent, child)?.is_some() {
            let hint = format!("to get its result: relaunch resume {child}");
            return Err(Error::conflict(format!("{parent} waits for {child} already"), hint));
        }
        // The lock is taken before the await exists: if an await's lock is free, its spawn has died or has answered.
        let held = awaits::hold(mailbox, &lock, child)?;
        awaits::create(mailbox, &lock, child, join, request)?;
        Ok(Self { mailbox, parent: parent.clone(), child: child.clone(), _held: Some(held) })
    }

    /// Takes over the oldest await with this request id whose spawn died before it answered. With `child`, only that child's.
    pub fn take_over(mailbox: &'a Mailbox, parent: &WorkflowId, request: Uuid, child: Option<&WorkflowId>) -> Result<Option<Self>> {
        let lock = mailbox.lock(parent)?;
        for mut wait in awaits::of_parent(mailbox, parent)? {
            let is_same = wait.typed.request == Some(request) && child.is_none_or(|c| *c == wait.typed.child);
            let child = wait.typed.child.clone();
            if !is_same || wait.typed.told_by.is_some() || awaits::is_held(mailbox, parent, &child)? {
                continue;
            }
            let held = awaits::hold(mailbox, &lock, &child)?;
            // The await starts again, even if its child was noted as never started.
            (wait.typed.created, wait.typed.ended) = (time::now(), None);
            awaits::write(mailbox, &lock, wait)?;
            return Ok(Some(Self { mailbox, parent: parent.clone(), child, _held: Some(held) }));
        }
        Ok(None)
    }

    /// The await of a parent that looks for the result with `relaunch resume`, if there is one.
    pub fn of_child(mailbox: &'a Mailbox, parent: &WorkflowId, child: &WorkflowId) -> Result<Option<Self>> {
        let wait = awaits::read(mailbox, parent, child)?.filter(|w| w.typed.told_by.is_none());
        Ok(wait.map(|_| Self { mailbox, parent: parent.clone(), child: child.clone(), _held: None }))
    }

    /// Gives the parent its child's end through `print`. If the process is killed before `perhaps_told` is durable, it has printed
    /// nothing. If it is killed after that, the parent is woken and told that it may have seen the result. If it is killed after the
    /// removal, the parent has seen the result.
    pub fn tell(&self, ended: &Ended, print: impl FnOnce() -> Result<()>) -> Result<()> {
        let kept = outcome::store_long_text(self.mailbox, ended.clone())?;
        self.change(|w| w.ended = Some(Ended { perhaps_told: true, ..kept.clone() }))?;
        if let Err(e) = print() {
            self.change(|w| w.ended = Some(kept))?;
            return Err(e);
        }
        self.remove()
    }

    /// Notes that the caller knows the child's id and ends its turn. The caller will be woken.
    pub fn answered(&self) -> Result<()> {
        self.change(|w| w.request = None)
    }

    /// Removes the await, because the parent was told, or the child never began.
    pub fn remove(&self) -> Result<()> {
        awaits::remove(self.mailbox, &self.mailbox.lock(&self.parent)?, &self.child)
    }

    /// Changes the await. If it was removed in between, because its tree was cancelled, it stays removed.
    fn change(&self, change: impl FnOnce(&mut Await)) -> Result<()> {
        let lock = self.mailbox.lock(&self.parent)?;
        let Some(mut wait) = awaits::read(self.mailbox, &self.parent, &self.child)? else { return Ok(()) };
        change(&mut wait.typed);
        awaits::write(self.mailbox, &lock, wait)
    }
}
