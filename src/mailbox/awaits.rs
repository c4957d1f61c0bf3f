//! `awaits/PARENT/CHILD.json`: a workflow that is to be told how another one ends. Made before the child is launched, removed
//! once the parent has been told. Beside it lies `CHILD.lock`, held by a `relaunch spawn` that waits in the parent's own turn.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::disk::{self, Lock};
use crate::document::Document;
use crate::error::{Error, IoContext, Result};
use crate::id::{QuestionId, WorkflowId};
use crate::mailbox::layout::{Folder, Mailbox, WorkflowLock};
use crate::time::Time;

/// The largest await, in bytes.
pub const MAX_AWAIT: u64 = 1 << 20;

/// The ends of a workflow, as its parent is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// Its agent ended its work by itself.
    Finished,
    /// It never began, or was given up.
    Failed,
    /// Its attempts are used up; somebody may still bring it back.
    Parked,
    /// Its question was taken back.
    Cancelled,
    /// Nobody answered its question in time.
    Expired,
    /// Somebody stopped it, or a limit did.
    Stopped,
}

impl End {
    /// The word for it in files and messages.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::Failed => "failed",
            Self::Parked => "parked",
            Self::Cancelled => "cancelled",
            Self::Expired => "expired",
            Self::Stopped => "stopped",
        }
    }

    /// Whether somebody may still make it go on.
    #[must_use]
    pub fn may_change(self) -> bool {
        matches!(self, Self::Parked | Self::Stopped)
    }
}

/// How a workflow ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ended {
    /// Which.
    pub workflow_id: WorkflowId,
    /// How.
    pub end: End,
    /// The agent's final text, or why there is none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// The file with the final text, where that is long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    /// Its parent may have seen this: it was about to be printed in the parent's own turn.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub perhaps_told: bool,
}

/// With how many of its children a parent is woken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Join {
    /// Once every one has ended.
    #[default]
    All,
    /// As soon as this one has.
    Any,
}

/// One parent that waits for one child.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Await {
    /// The version of the layout.
    #[serde(default)]
    pub schema_version: u32,
    /// Names this wait among all.
    pub await_id: Uuid,
    /// Who waits; equals the folder's name.
    pub parent: WorkflowId,
    /// For whom; equals the file's name.
    pub child: WorkflowId,
    /// Since when.
    pub created: Time,
    /// With whom it is woken.
    #[serde(default)]
    pub join: Join,
    /// What was asked for, in which round of the parent, while the spawn that made this has not answered. Where that spawn is
    /// dead (its lock is free), the next one that is asked for the same takes this over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Uuid>,
    /// The tree was stopped: that its child is stopped is no news.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub patient: bool,
    /// How the child ended, once it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Ended>,
    /// The round of the parent that tells it. Where that exists, this wait is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told_by: Option<QuestionId>,
}

fn folder(mailbox: &Mailbox, parent: &WorkflowId) -> PathBuf {
    mailbox.folder(Folder::Awaits).join(parent.as_str())
}

fn path(mailbox: &Mailbox, parent: &WorkflowId, child: &WorkflowId) -> PathBuf {
    folder(mailbox, parent).join(child.file_name())
}

fn lock_path(mailbox: &Mailbox, parent: &WorkflowId, child: &WorkflowId) -> PathBuf {
    folder(mailbox, parent).join(format!("{child}.lock"))
}

/// Makes a wait durable. The caller holds the parent's lock, and knows that there is none yet.
pub fn create(mailbox: &Mailbox, lock: &WorkflowLock, child: &WorkflowId, join: Join, request: Option<Uuid>) -> Result<()> {
    let parent = lock.workflow();
    disk::create_folder(&folder(mailbox, parent))?;
    let wait = Await {
        schema_version: crate::document::SCHEMA_VERSION,
        await_id: Uuid::now_v7(),
        parent: parent.clone(),
        child: child.clone(),
        created: crate::time::now(),
        join,
        request,
        patient: false,
        ended: None,
        told_by: None,
    };
    disk::create(&path(mailbox, parent, child), &Document::new(wait)?.to_bytes()).map(drop)
}

/// The right to tell the parent in its own turn. While it is held, nobody wakes the parent. The caller holds the parent's lock
/// and knows that nobody holds this one: somebody may just look whether it is held.
pub fn hold(mailbox: &Mailbox, lock: &WorkflowLock, child: &WorkflowId) -> Result<Lock> {
    disk::create_folder(&folder(mailbox, lock.workflow()))?;
    Lock::acquire(&lock_path(mailbox, lock.workflow(), child))
}

/// Whether somebody waits for the child in the parent's own turn.
pub fn is_held(mailbox: &Mailbox, parent: &WorkflowId, child: &WorkflowId) -> Result<bool> {
    Lock::is_held(&lock_path(mailbox, parent, child))
}

/// One wait; `None` where there is none.
pub fn read(mailbox: &Mailbox, parent: &WorkflowId, child: &WorkflowId) -> Result<Option<Document<Await>>> {
    let path = path(mailbox, parent, child);
    let document: Document<Await> = match disk::read(&path, MAX_AWAIT) {
        Err(e) if e.is_missing_file() => return Ok(None),
        other => Document::parse(&other?).map_err(|e| e.in_file(&path))?,
    };
    for (field, said, is) in [("parent", &document.typed.parent, parent), ("child", &document.typed.child, child)] {
        if said != is {
            return Err(Error::invalid(field, format!("is {said}, where the path says {is}"), "let both say the same").in_file(&path));
        }
    }
    Ok(Some(document))
}

/// Writes a changed wait. The caller holds the parent's lock.
pub fn write(mailbox: &Mailbox, lock: &WorkflowLock, mut wait: Document<Await>) -> Result<()> {
    wait.update()?;
    disk::replace(&path(mailbox, lock.workflow(), &wait.typed.child), &wait.to_bytes())
}

/// The parent has been told. The caller holds the parent's lock.
pub fn remove(mailbox: &Mailbox, lock: &WorkflowLock, child: &WorkflowId) -> Result<()> {
    disk::remove(&path(mailbox, lock.workflow(), child))?;
    disk::untouch(&lock_path(mailbox, lock.workflow(), child))?;
    disk::remove_folder_if_empty(&folder(mailbox, lock.workflow()));
    Ok(())
}

/// Whether a removal may have been broken off: the folder is there.
#[must_use]
pub fn has_folder(mailbox: &Mailbox, parent: &WorkflowId) -> bool {
    folder(mailbox, parent).exists()
}

/// Completes what was broken off where nobody waits any more: locks without a wait, temporary files, and the folder. The
/// caller holds the parent's lock, under which alone anything is written there.
pub fn tidy(mailbox: &Mailbox, lock: &WorkflowLock) -> Result<()> {
    let folder = folder(mailbox, lock.workflow());
    for name in names(&folder)? {
        let child: Option<WorkflowId> = name.strip_suffix(".lock").and_then(|c| c.parse().ok());
        let dead = match &child {
            Some(child) => !path(mailbox, lock.workflow(), child).exists() && !is_held(mailbox, lock.workflow(), child)?,
            None => name.starts_with(disk::TEMPORARY_PREFIX),
        };
        if dead {
            disk::untouch(&folder.join(name))?;
        }
    }
    disk::remove_folder_if_empty(&folder);
    Ok(())
}

/// For whom a workflow waits, in the order of their beginnings.
pub fn of_parent(mailbox: &Mailbox, parent: &WorkflowId) -> Result<Vec<Document<Await>>> {
    let mut waits = Vec::new();
    for child in children(mailbox, parent)? {
        waits.extend(read(mailbox, parent, &child)?);
    }
    waits.sort_unstable_by_key(|w| (w.typed.created, w.typed.await_id));
    Ok(waits)
}

/// For whom a workflow waits, by the names alone.
pub fn children(mailbox: &Mailbox, parent: &WorkflowId) -> Result<Vec<WorkflowId>> {
    Ok(entries(&folder(mailbox, parent))?.iter().filter_map(|name| WorkflowId::from_file_name(name)).collect())
}

/// Every workflow that waits for another one.
pub fn parents(mailbox: &Mailbox) -> Result<Vec<WorkflowId>> {
    let mut parents = folders(mailbox)?;
    // A lock may have stayed behind, or a folder whose files somebody removed.
    parents.retain(|parent| !children(mailbox, parent).is_ok_and(|c| c.is_empty()));
    Ok(parents)
}

/// Who waits for a workflow.
pub fn of_child(mailbox: &Mailbox, child: &WorkflowId) -> Result<Vec<WorkflowId>> {
    let mut parents = folders(mailbox)?;
    parents.retain(|parent| path(mailbox, parent, child).exists());
    Ok(parents)
}

/// [`parents`], and those where the removal of the last wait was broken off: see [`tidy`].
pub fn folders(mailbox: &Mailbox) -> Result<Vec<WorkflowId>> {
    Ok(entries(&mailbox.folder(Folder::Awaits))?.iter().filter_map(|name| name.parse().ok()).collect())
}

fn entries(folder: &std::path::Path) -> Result<Vec<String>> {
    Ok(names(folder)?.into_iter().filter(|n| !n.starts_with('.')).collect())
}

fn names(folder: &std::path::Path) -> Result<Vec<String>> {
    // No link is followed, and what is no folder holds nothing.
    if !folder.symlink_metadata().is_ok_and(|m| m.is_dir()) {
        return Ok(Vec::new());
    }
    let entries = match std::fs::read_dir(folder) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.io("read", folder)?,
    };
    Ok(entries.flatten().map(|e| e.file_name().to_string_lossy().into_owned()).collect())
}
