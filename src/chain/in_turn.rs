//! A parent that waits for a child in its own turn: `relaunch spawn`, from the await's beginning to the answer that its caller
//! gets. Whoever is killed on the way leaves an await that says how far it came.
//!
//! ```text
//! begun        the await, with `request`, and its lock held
//! telling      its `ended`, marked `perhaps_told`: from here on a wake-up says that it may be a repetition
//! told         the await is gone: nobody is woken for it any more
//! answered     no `request` any more: the caller knows the child's id and waits for the wake-up
//! ```

use std::path::Path;

use serde_json::json;
use uuid::Uuid;

use crate::chain::bounds::{self, Bounds};
use crate::chain::outcome;
use crate::disk::{self, Lock};
use crate::error::{Error, Result};
use crate::id::WorkflowId;
use crate::mailbox::awaits::{self, Await, Ended, Join};
use crate::mailbox::{Mailbox, WorkflowLock};
use crate::run::claim::task::Task;

/// Instructions longer than this, in bytes, are not compared: a second call for them is a second child.
const MAX_COMPARED: u64 = 1 << 20;

/// One child for which a parent waits in its own turn.
#[derive(Debug)]
pub struct InTurn<'a> {
    mailbox: &'a Mailbox,
    parent: WorkflowId,
    child: WorkflowId,
    /// While we hold it, nobody wakes the parent.
    _held: Option<Lock>,
}

/// What is asked for: the same task, by the same words and the same file's content, in the same round of the parent. `None`
/// where that cannot be said. `run`: the parent's `ASKBOX_RUN`.
#[must_use]
pub fn request(run: &str, task: &Task, file: Option<&Path>) -> Option<Uuid> {
    let (round, _attempt) = run.rsplit_once('/')?;
    let words = json!([round, task.prompt, task.role, task.model, task.cwd]);
    let words = Uuid::new_v5(&Uuid::NAMESPACE_OID, words.to_string().as_bytes());
    let content = match file {
        Some(file) => disk::read(file, MAX_COMPARED).ok()?,
        None => Vec::new(),
    };
    Some(Uuid::new_v5(&words, &content))
}

impl<'a> InTurn<'a> {
    /// Makes the wait durable, before there is anything to wait for.
    pub fn begin(
        mailbox: &'a Mailbox,
        bounds: Bounds,
        parent: &WorkflowId,
        child: &WorkflowId,
        join: Join,
        request: Option<Uuid>,
    ) -> Result<Self> {
        let lock = mailbox.lock(parent)?;
        bounds::breadth(mailbox, bounds, &lock)?;
        if awaits::read(mailbox, parent, child)?.is_some() {
            return Err(Error::conflict(format!("{parent} waits for {child} already"), format!("its reply: relaunch resume {child}")));
        }
        // First: a wait whose lock is free is one whose spawn is dead or has answered.
        let held = awaits::hold(mailbox, &lock, child)?;
        awaits::create(mailbox, &lock, child, join, request)?;
        Ok(Self { mailbox, parent: parent.clone(), child: child.clone(), _held: Some(held) })
    }

    /// The oldest wait for the same whose spawn died before it answered, if there is one. `child`: only for this one.
    pub fn take_over(mailbox: &'a Mailbox, parent: &WorkflowId, request: Uuid, child: Option<&WorkflowId>) -> Result<Option<Self>> {
        let lock = mailbox.lock(parent)?;
        for mut wait in awaits::of_parent(mailbox, parent)? {
            let same = wait.typed.request == Some(request) && child.is_none_or(|c| *c == wait.typed.child);
            let child = wait.typed.child.clone();
            if !same || wait.typed.told_by.is_some() || awaits::is_held(mailbox, parent, &child)? {
                continue;
            }
            let held = awaits::hold(mailbox, &lock, &child)?;
            // Begun anew, also where it was given up as never started.
            (wait.typed.created, wait.typed.ended) = (crate::time::now(), None);
            awaits::write(mailbox, &lock, wait)?;
            return Ok(Some(Self { mailbox, parent: parent.clone(), child, _held: Some(held) }));
        }
        Ok(None)
    }

    /// The wait of a parent that looks for the reply by itself.
    pub fn of(mailbox: &'a Mailbox, parent: &WorkflowId, child: &WorkflowId) -> Result<Option<Self>> {
        let wait = awaits::read(mailbox, parent, child)?.filter(|w| w.typed.told_by.is_none());
        Ok(wait.map(|_| Self { mailbox, parent: parent.clone(), child: child.clone(), _held: None }))
    }

    /// For whom.
    #[must_use]
    pub fn child(&self) -> &WorkflowId {
        &self.child
    }

    /// Gives the parent its child's end through `print`. Killed before the mark, nothing was printed; killed behind it, the
    /// parent is woken and told that it may have seen it; killed behind the removal, it had it.
    pub fn tell(&self, ended: &Ended, print: impl FnOnce() -> Result<()>) -> Result<()> {
        let kept = outcome::kept(self.mailbox, ended.clone())?;
        self.change(|w| w.ended = Some(Ended { perhaps_told: true, ..kept.clone() }))?;
        if let Err(e) = print() {
            self.change(|w| w.ended = Some(kept))?;
            return Err(e);
        }
        self.forget()
    }

    /// The caller knows the child's id, and ends its turn.
    pub fn answered(&self) -> Result<()> {
        self.change(|w| w.request = None)
    }

    /// Nobody waits: it was told, or never began.
    pub fn forget(&self) -> Result<()> {
        awaits::remove(self.mailbox, &self.lock()?, &self.child)
    }

    fn lock(&self) -> Result<WorkflowLock> {
        self.mailbox.lock(&self.parent)
    }

    /// A wait that is gone (its tree was given up) stays gone.
    fn change(&self, change: impl FnOnce(&mut Await)) -> Result<()> {
        let lock = self.lock()?;
        let Some(mut wait) = awaits::read(self.mailbox, &self.parent, &self.child)? else { return Ok(()) };
        change(&mut wait.typed);
        awaits::write(self.mailbox, &lock, wait)
    }
}
