//! Awaits, `awaits/PARENT/CHILD.json`: a workflow waits for the end of another one. An await is made before the child is launched,
//! and removed once the parent has been told of the end. A `relaunch spawn` that waits in the parent's own turn holds `CHILD.lock`
//! beside it.

use std::path::PathBuf;

use uuid::Uuid;

use crate::{AttemptId, Await, Document, Error, Folder, Join, Lock, Mailbox, Result, WorkflowId, WorkflowLock, disk};

fn folder(mailbox: &Mailbox, parent: &WorkflowId) -> PathBuf {
    mailbox.folder(Folder::Awaits).join(parent.as_str())
}

fn path(mailbox: &Mailbox, parent: &WorkflowId, child: &WorkflowId) -> PathBuf {
    folder(mailbox, parent).join(child.file_name())
}

fn lock_path(mailbox: &Mailbox, parent: &WorkflowId, child: &WorkflowId) -> PathBuf {
    folder(mailbox, parent).join(format!("{child}.lock"))
}

/// Creates an await, durably. The caller holds the parent's lock and knows that the await does not exist yet.
///
/// # Errors
/// [`Error::Io`] if the system refuses.
pub fn create(mailbox: &Mailbox, lock: &WorkflowLock, child: &WorkflowId, join: Join, request: Option<Uuid>) -> Result<()> {
    create_new(mailbox, Await { join, request, ..new(lock, child) })
}

/// Creates an await for a child that the parent was told of before, durably. The end of the attempt `knows` does not wake the parent.
/// The caller holds the parent's lock and knows that the await does not exist yet.
///
/// # Errors
/// [`Error::Io`] if the system refuses.
pub fn create_again(mailbox: &Mailbox, lock: &WorkflowLock, child: &WorkflowId, knows: Option<AttemptId>) -> Result<()> {
    create_new(mailbox, Await { knows, ..new(lock, child) })
}

fn create_new(mailbox: &Mailbox, wait: Await) -> Result<()> {
    disk::create_folder(&folder(mailbox, &wait.parent))?;
    let path = path(mailbox, &wait.parent, &wait.child);
    disk::create(&path, &Document::new(wait)?.to_file()?).map(drop)
}

fn new(lock: &WorkflowLock, child: &WorkflowId) -> Await {
    Await {
        schema_version: crate::document::SCHEMA_VERSION,
        await_id: Uuid::now_v7(),
        parent: lock.workflow().clone(),
        child: child.clone(),
        created: crate::time::now(),
        ..Await::default()
    }
}

/// Takes `CHILD.lock`, the right to tell the parent in its own turn. While it is held, no process wakes the parent. The caller
/// holds the parent's lock and knows that no process keeps `CHILD.lock`; another process may only hold it for a moment to check it.
///
/// # Errors
/// [`Error::Held`] if another process keeps `CHILD.lock`. [`Error::Io`] if the system refuses.
pub fn hold(mailbox: &Mailbox, lock: &WorkflowLock, child: &WorkflowId) -> Result<Lock> {
    disk::create_folder(&folder(mailbox, lock.workflow()))?;
    Lock::acquire(&lock_path(mailbox, lock.workflow(), child))
}

/// True if a process waits for the child in the parent's own turn.
///
/// # Errors
/// [`Error::Io`] if the system refuses.
pub fn is_held(mailbox: &Mailbox, parent: &WorkflowId, child: &WorkflowId) -> Result<bool> {
    Lock::is_held(&lock_path(mailbox, parent, child))
}

/// Reads an await. Returns `None` if it does not exist.
///
/// # Errors
/// [`Error::Invalid`] if the file is not an await of this parent and this child. [`Error::Io`] if the system refuses.
pub fn read(mailbox: &Mailbox, parent: &WorkflowId, child: &WorkflowId) -> Result<Option<Document<Await>>> {
    let path = path(mailbox, parent, child);
    let Some(document) = Document::<Await>::read(&path)? else { return Ok(None) };
    for (field, said, is) in [("parent", &document.typed.parent, parent), ("child", &document.typed.child, child)] {
        if said != is {
            return Err(Error::invalid(field, format!("is {said}, where the path says {is}"), "let both say the same").in_file(&path));
        }
    }
    Ok(Some(document))
}

/// Replaces an await. The caller holds the parent's lock.
///
/// # Errors
/// [`Error::Invalid`] if the document would be too long. [`Error::Io`] if the system refuses.
pub fn write(mailbox: &Mailbox, lock: &WorkflowLock, mut wait: Document<Await>) -> Result<()> {
    wait.update()?;
    disk::replace(&path(mailbox, lock.workflow(), &wait.typed.child), &wait.to_file()?)
}

/// Removes an await after the parent has been told of the child's end. The caller holds the parent's lock.
///
/// # Errors
/// [`Error::Io`] if the system refuses.
pub fn remove(mailbox: &Mailbox, lock: &WorkflowLock, child: &WorkflowId) -> Result<()> {
    disk::remove(&path(mailbox, lock.workflow(), child))?;
    disk::untouch(&lock_path(mailbox, lock.workflow(), child))?;
    disk::remove_folder_if_empty(&folder(mailbox, lock.workflow()));
    Ok(())
}

/// True if the folder of a parent exists. If it holds no awaits, a removal was interrupted: see [`tidy`].
pub fn has_folder(mailbox: &Mailbox, parent: &WorkflowId) -> bool {
    disk::exists(folder(mailbox, parent))
}

/// Removes what an interrupted removal left: locks without an await, temporary files, and the folder. The caller holds the parent's
/// lock, so no other process writes there.
///
/// # Errors
/// [`Error::Io`] if the system refuses.
pub fn tidy(mailbox: &Mailbox, lock: &WorkflowLock) -> Result<()> {
    let folder = folder(mailbox, lock.workflow());
    for name in names(&folder)? {
        let child: Option<WorkflowId> = name.strip_suffix(".lock").and_then(|c| c.parse().ok());
        let dead = match &child {
            Some(child) => !disk::exists(path(mailbox, lock.workflow(), child)) && !is_held(mailbox, lock.workflow(), child)?,
            None => name.starts_with(disk::TEMPORARY_PREFIX),
        };
        if dead {
            disk::untouch(&folder.join(name))?;
        }
    }
    disk::remove_folder_if_empty(&folder);
    Ok(())
}

/// Reads the awaits of a parent, oldest first.
///
/// # Errors
/// [`Error::Invalid`] if a file is not an await. [`Error::Io`] if the system refuses.
pub fn of_parent(mailbox: &Mailbox, parent: &WorkflowId) -> Result<Vec<Document<Await>>> {
    let mut waits = Vec::new();
    for child in children(mailbox, parent)? {
        waits.extend(read(mailbox, parent, &child)?);
    }
    waits.sort_unstable_by_key(|w| (w.typed.created, w.typed.await_id));
    Ok(waits)
}

/// Returns the children that a parent waits for. Reads names only.
///
/// # Errors
/// [`Error::Io`] if the system refuses.
pub fn children(mailbox: &Mailbox, parent: &WorkflowId) -> Result<Vec<WorkflowId>> {
    Ok(entries(&folder(mailbox, parent))?.iter().filter_map(|name| WorkflowId::from_file_name(name)).collect())
}

/// Returns all workflows that wait for another one.
///
/// # Errors
/// [`Error::Io`] if the system refuses.
pub fn parents(mailbox: &Mailbox) -> Result<Vec<WorkflowId>> {
    let mut parents = folders(mailbox)?;
    // A folder may be empty, or hold only a lock.
    parents.retain(|parent| !children(mailbox, parent).is_ok_and(|c| c.is_empty()));
    Ok(parents)
}

/// Returns the parents that wait for a child.
///
/// # Errors
/// [`Error::Io`] if the system refuses.
pub fn of_child(mailbox: &Mailbox, child: &WorkflowId) -> Result<Vec<WorkflowId>> {
    let mut parents = folders(mailbox)?;
    parents.retain(|parent| disk::exists(path(mailbox, parent, child)));
    Ok(parents)
}

/// Returns all parents that have a folder, even without awaits in it: see [`tidy`].
///
/// # Errors
/// [`Error::Io`] if the system refuses.
pub fn folders(mailbox: &Mailbox) -> Result<Vec<WorkflowId>> {
    Ok(entries(&mailbox.folder(Folder::Awaits))?.iter().filter_map(|name| name.parse().ok()).collect())
}

fn entries(folder: &std::path::Path) -> Result<Vec<String>> {
    Ok(names(folder)?.into_iter().filter(|n| !n.starts_with('.')).collect())
}

fn names(folder: &std::path::Path) -> Result<Vec<String>> {
    if !disk::metadata(folder).is_ok_and(|m| m.is_dir()) {
        return Ok(Vec::new());
    }
    let Some(entries) = disk::entries_if_there(folder)? else { return Ok(Vec::new()) };
    Ok(entries.flatten().map(|e| e.name.to_string_lossy().into_owned()).collect())
}
