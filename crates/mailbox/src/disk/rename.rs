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
    begin_rename(from, to)?.map_or(Ok(Placed::NameExists), |renamed| renamed.finish().map(|()| Placed::Done))
}

/// Renames a file and makes only its new name durable. A power cut may bring the old name back beside the new one, so a reader must
/// be able to tell which of the two counts.
///
/// # Errors
/// [`Error::Io`](crate::error::Error::Io) if the system refuses. The file has its old name then.
pub fn rename_ahead(from: &Path, to: &Path) -> Result<Placed> {
    begin_rename(from, to)?.map_or(Ok(Placed::NameExists), |renamed| renamed.finish_ahead().map(|()| Placed::Done))
}

/// A file that has its new name. Neither of the two names is durable yet.
#[derive(Debug)]
#[must_use = "a power cut may bring the old name back, or lose both"]
pub struct Renamed {
    old: Place,
    new: Place,
}

/// The first step of [`rename`] and [`rename_ahead`], for a caller that holds a lock for this step only. Returns `None` if another file has
/// the name.
///
/// # Errors
/// [`Error::Io`](crate::error::Error::Io) if the system refuses. The file has its old name then.
pub fn begin_rename(from: &Path, to: &Path) -> Result<Option<Renamed>> {
    let (old, new) = places(from, to)?;
    match old.rename_noreplace(&new) {
        Ok(()) => Ok(Some(Renamed { old, new })),
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(None),
        Err(e) => Err(e).io("move", from),
    }
}

impl Renamed {
    /// Makes the new name durable, then the end of the old one.
    ///
    /// # Errors
    /// [`Error::Io`](crate::error::Error::Io) if the system refuses. The file has its old name then.
    pub fn finish(self) -> Result<()> {
        self.sync_new()?;
        if self.old.folder.path() != self.new.folder.path() {
            self.old.folder.sync().inspect_err(|_| drop(self.new.rename_noreplace(&self.old)))?;
        }
        Ok(())
    }

    /// Makes only the new name durable, as [`rename_ahead`] does.
    ///
    /// # Errors
    /// [`Error::Io`](crate::error::Error::Io) if the system refuses. The file has its old name then.
    pub fn finish_ahead(self) -> Result<()> {
        self.sync_new()
    }

    fn sync_new(&self) -> Result<()> {
        self.new.folder.sync().inspect_err(|_| drop(self.new.rename_noreplace(&self.old)))
    }
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
