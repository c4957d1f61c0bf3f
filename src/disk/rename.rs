//! Giving a file another name. Only [`replace_by_rename`] replaces a file.

use std::io;
use std::path::Path;

use crate::disk::below::Place;
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
    let (old, new) = places(from, to)?;
    let placed = move_ahead(&old, &new, from)?;
    if placed == Placed::Done && old.folder.path() != new.folder.path() {
        old.folder.sync().inspect_err(|_| drop(new.rename_noreplace(&old)))?;
    }
    Ok(placed)
}

/// Renames; only the new name is durable. A power cut may bring the old name back as well: the reader of both must tell which one
/// counts.
pub fn rename_ahead(from: &Path, to: &Path) -> Result<Placed> {
    let (old, new) = places(from, to)?;
    move_ahead(&old, &new, from)
}

fn move_ahead(old: &Place, new: &Place, from: &Path) -> Result<Placed> {
    match old.rename_noreplace(new) {
        Ok(()) => {}
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => return Ok(Placed::NameExists),
        Err(e) => return Err(e).io("move", from),
    }
    new.folder.sync().inspect_err(|_| drop(new.rename_noreplace(old)))?;
    Ok(Placed::Done)
}

/// Renames without a sync. Returns `false` if `from` does not exist.
///
/// # Errors
/// [`Error::Io`](crate::error::Error::Io) if `to` exists, or if the system refuses.
pub fn set_aside(from: &Path, to: &Path) -> Result<bool> {
    let (old, new) = places(from, to)?;
    was_there(old.rename_noreplace(&new)).io("move", from)
}

/// Renames without a sync, in one step on every filesystem. A file with the new name is replaced. Returns `false` if `from` does not
/// exist.
pub fn replace_by_rename(from: &Path, to: &Path) -> Result<bool> {
    let (old, new) = places(from, to)?;
    was_there(old.rename_over(&new)).io("move", from)
}

fn was_there(result: io::Result<()>) -> io::Result<bool> {
    match result {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
        other => other.map(|()| true),
    }
}

/// Both places; one opened folder if both names lie in it.
fn places(from: &Path, to: &Path) -> Result<(Place, Place)> {
    let old = Place::of(from).io("move", from)?;
    let new = match to.file_name() {
        Some(name) if to.parent() == from.parent() => old.beside(name),
        _ => Place::of(to).io("move", from)?,
    };
    Ok((old, new))
}
