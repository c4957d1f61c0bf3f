//! Giving a file another name. Only [`replace_by_rename`] replaces a file.

use std::io;
use std::path::Path;

use crate::disk::below::Place;
use crate::error::{IoContext, Result};

/// The result of a step that gives a file its name and never replaces another file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "the transition has not happened if the name exists"]
pub enum Placed {
    /// The file has its name. The name is durable, unless the function was one of those named `…_ahead`.
    Done,
    /// Another file has that name. Nothing was changed.
    NameExists,
}

/// Renames a file durably: syncs both folders. Syncs the new name first, so a power cut may leave both names, but never none.
///
/// # Errors
/// [`Error::Io`](crate::error::Error::Io) if the system refuses. The file has its old name then.
pub fn rename(from: &Path, to: &Path) -> Result<Placed> {
    let (old, new) = places(from, to)?;
    let placed = move_ahead(&old, &new, from)?;
    if placed == Placed::Done && old.folder.path() != new.folder.path() {
        old.folder.sync().inspect_err(|_| drop(new.rename_noreplace(&old)))?;
    }
    Ok(placed)
}

/// Renames a file and makes only its new name durable. A power cut may bring the old name back beside the new one, so a reader must
/// be able to tell which of the two counts.
///
/// # Errors
/// [`Error::Io`](crate::error::Error::Io) if the system refuses. The file has its old name then.
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

/// Renames a file without a sync. Returns `false` if `from` does not exist.
///
/// # Errors
/// [`Error::Io`](crate::error::Error::Io) if `to` exists, or if the system refuses.
pub fn set_aside(from: &Path, to: &Path) -> Result<bool> {
    let (old, new) = places(from, to)?;
    was_there(old.rename_noreplace(&new)).io("move", from)
}

/// Renames a file without a sync, in one step on every filesystem. Replaces a file that has the new name. Returns `false` if `from`
/// does not exist.
///
/// # Errors
/// [`Error::Io`](crate::error::Error::Io) if the system refuses.
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

/// Returns both places. They share one opened folder if both names lie in it.
fn places(from: &Path, to: &Path) -> Result<(Place, Place)> {
    let old = Place::at(from).io("move", from)?;
    let new = match to.file_name() {
        Some(name) if to.parent() == from.parent() => old.beside(name),
        _ => Place::at(to).io("move", from)?,
    };
    Ok((old, new))
}
