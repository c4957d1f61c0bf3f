//! A file that is written, but does not have its name yet.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::disk::primitives::{parent, sync_folder};
use crate::disk::rename::Placed;
use crate::disk::temporary::write_temporary;
use crate::error::{IoContext, Result};

/// A file under a temporary name in the folder of its target. Its content is not durable yet.
#[derive(Debug)]
#[must_use = "the file is removed if it is dropped before it gets its name"]
pub struct Staged {
    temporary: NamedTempFile,
    path: PathBuf,
}

/// Writes a file with mode 0600, and lets the system begin to write it to the disk. A caller that stages several files before it
/// places them waits less.
pub fn stage(path: &Path, bytes: &[u8]) -> Result<Staged> {
    let staged = stage_alone(path, bytes)?;
    begin_sync(staged.temporary.as_file());
    Ok(staged)
}

/// [`stage`] for a file that is placed at once.
pub(super) fn stage_alone(path: &Path, bytes: &[u8]) -> Result<Staged> {
    let temporary = write_temporary(parent(path)?, bytes, 0o600)?;
    Ok(Staged { temporary, path: path.to_path_buf() })
}

impl Staged {
    fn sync(&self) -> Result<()> {
        self.temporary.as_file().sync_all().io("sync a file in", parent(&self.path)?)
    }

    /// Gives the file its name, durably; never replaces another file.
    ///
    /// # Errors
    /// [`Error::Io`](crate::error::Error::Io): the file does not have its name then. A full disk is reported here at the latest.
    pub fn place(self) -> Result<Placed> {
        let path = self.path.clone();
        let placed = self.place_ahead()?;
        if placed == Placed::Done {
            sync_folder(parent(&path)?).inspect_err(|_| drop(fs::remove_file(&path)))?;
        }
        Ok(placed)
    }

    /// [`place`](Self::place) before the name is durable: see [`crate::disk::sync_names_up_to`]. A power cut before that removes the
    /// whole file.
    pub fn place_ahead(self) -> Result<Placed> {
        self.sync()?;
        match self.temporary.persist_noclobber(&self.path) {
            Ok(_) => Ok(Placed::Done),
            Err(e) if e.error.kind() == io::ErrorKind::AlreadyExists => Ok(Placed::NameExists),
            Err(e) => Err(e.error).io("create", self.path),
        }
    }

    /// Replaces the file of that name before the name is durable: a power cut may bring back the old file, whole.
    pub fn replace_ahead(self) -> Result<()> {
        self.sync()?;
        self.temporary.persist(&self.path).map(drop).map_err(|e| e.error).io("replace", self.path)
    }
}

/// Lets the system begin to write a file to the disk, without waiting for it.
pub(super) fn begin_sync(file: &File) {
    // A page that is not on the disk yet cannot leave the memory, so the system begins to write it.
    #[cfg(target_os = "linux")]
    let _ = rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed);
    #[cfg(not(target_os = "linux"))]
    let _ = file;
}
