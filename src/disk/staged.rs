//! A file that is written, but does not have its name yet.

use std::io;
use std::path::{Path, PathBuf};

use crate::disk::below::{Place, parent};
use crate::disk::rename::Placed;
use crate::disk::temporary::Temporary;
use crate::error::{IoContext, Result};
use crate::platform::files;

/// A file under a temporary name in the folder of its target. Its content is not durable yet.
#[derive(Debug)]
#[must_use = "the file is removed if it is dropped before it gets its name"]
pub struct Staged {
    temporary: Temporary,
    target: Place,
    path: PathBuf,
}

/// Writes a file with mode 0600, and lets the system begin to write it to the disk. A caller that stages several files before it
/// places them waits less.
pub fn stage(path: &Path, bytes: &[u8]) -> Result<Staged> {
    let staged = stage_alone(path, bytes)?;
    files::begin_sync(&staged.temporary.file);
    Ok(staged)
}

/// [`stage`] for a file that is placed at once.
pub(super) fn stage_alone(path: &Path, bytes: &[u8]) -> Result<Staged> {
    let target = Place::of(path).io("write in", parent(path)?)?;
    let temporary = Temporary::write(&target, bytes, 0o600)?;
    Ok(Staged { temporary, target, path: path.to_path_buf() })
}

impl Staged {
    /// Gives the file its name, durably; never replaces another file.
    ///
    /// # Errors
    /// [`Error::Io`](crate::error::Error::Io): the file does not have its name then. A full disk is reported here at the latest.
    pub fn place(self) -> Result<Placed> {
        let target = self.target.clone();
        let placed = self.place_ahead()?;
        if placed == Placed::Done {
            target.folder.sync().inspect_err(|_| drop(target.remove()))?;
        }
        Ok(placed)
    }

    /// [`place`](Self::place) before the name is durable: see [`crate::disk::sync_names_up_to`]. A power cut before that removes the
    /// whole file.
    pub fn place_ahead(self) -> Result<Placed> {
        self.temporary.sync()?;
        match self.temporary.name.place(&self.target) {
            Ok(()) => Ok(Placed::Done),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(Placed::NameExists),
            Err(e) => Err(e).io("create", self.path),
        }
    }

    /// Replaces the file of that name before the name is durable: a power cut may bring back the old file, whole.
    pub fn replace_ahead(self) -> Result<()> {
        self.temporary.sync()?;
        self.temporary.name.replace(&self.target).io("replace", self.path)
    }
}
