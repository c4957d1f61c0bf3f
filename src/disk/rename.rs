//! Giving a file another name. Only [`replace_by_rename`] replaces a file.

use std::fs;
use std::io;
use std::path::Path;

use crate::disk::primitives::{parent, rename_noreplace, sync_folder};
use crate::error::{IoContext, Result};

/// What a transition that never replaces found at its target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "the transition has not happened if the name exists"]
pub enum Placed {
    /// The file has its name, durably.
    Done,
    /// Another file has that name; nothing was changed.
    NameExists,
}

/// Renames durably: syncs both folders. The new name becomes durable first, so a power cut leaves both names rather than none.
pub fn rename(from: &Path, to: &Path) -> Result<Placed> {
    let placed = rename_ahead(from, to)?;
    let source = parent(from)?;
    if placed == Placed::Done && source != parent(to)? {
        sync_folder(source).inspect_err(|_| drop(rename_noreplace(to, from)))?;
    }
    Ok(placed)
}

/// Renames; only the new name is durable. A power cut may bring the old name back as well: the reader of both must tell which one
/// counts.
pub fn rename_ahead(from: &Path, to: &Path) -> Result<Placed> {
    match rename_noreplace(from, to) {
        Ok(()) => {}
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => return Ok(Placed::NameExists),
        Err(e) => return Err(e).io("move", from),
    }
    sync_folder(parent(to)?).inspect_err(|_| drop(rename_noreplace(to, from)))?;
    Ok(Placed::Done)
}

/// Renames without a sync. Returns `false` if `from` does not exist.
///
/// # Errors
/// [`Error::Io`](crate::error::Error::Io) if `to` exists, or if the system refuses.
pub fn set_aside(from: &Path, to: &Path) -> Result<bool> {
    match rename_noreplace(from, to) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
        other => other.map(|()| true).io("move", from),
    }
}

/// Renames without a sync, in one step on every filesystem. A file with the new name is replaced. Returns `false` if `from` does not
/// exist.
pub fn replace_by_rename(from: &Path, to: &Path) -> Result<bool> {
    match fs::rename(from, to) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
        other => other.map(|()| true).io("move", from),
    }
}
