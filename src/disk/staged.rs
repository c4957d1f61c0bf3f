//! A file on its way to its name.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::disk::{Placed, parent, sync_folder, write_unsynced};
use crate::error::{IoContext, Result};

/// A file that was written under a temporary name beside its own; nothing of it is surely on the disk yet.
#[derive(Debug)]
#[must_use = "it vanishes when it is dropped before it was placed"]
pub struct Staged {
    temporary: tempfile::NamedTempFile,
    path: PathBuf,
}

/// Writes a file and lets the disk begin with it: several syncs wait for less if all that they are for is on its way.
pub fn stage(path: &Path, bytes: &[u8]) -> Result<Staged> {
    let staged = stage_alone(path, bytes)?;
    begin_sync(staged.temporary.as_file());
    Ok(staged)
}

/// [`stage`] for a file that is synced next.
pub(super) fn stage_alone(path: &Path, bytes: &[u8]) -> Result<Staged> {
    let temporary = write_unsynced(parent(path)?, bytes, 0o600)?;
    Ok(Staged { temporary, path: path.to_path_buf() })
}

impl Staged {
    fn sync(&self) -> Result<()> {
        self.temporary.as_file().sync_all().io("sync a file in", parent(&self.path)?)
    }

    /// Gives it its name, durably; never replaces. A full disk shows here at the latest.
    pub fn place(self) -> Result<Placed> {
        let path = self.path.clone();
        let placed = self.place_ahead()?;
        if placed == Placed::Done {
            sync_folder(parent(&path)?).inspect_err(|_| drop(fs::remove_file(&path)))?;
        }
        Ok(placed)
    }

    /// [`place`](Self::place) ahead of the sync of its name: see [`super::sync_names_up_to`]. A power cut before that takes the
    /// file away, whole.
    pub fn place_ahead(self) -> Result<Placed> {
        self.sync()?;
        match self.temporary.persist_noclobber(&self.path) {
            Ok(_) => Ok(Placed::Done),
            Err(e) if e.error.kind() == io::ErrorKind::AlreadyExists => Ok(Placed::NameExists),
            Err(e) => Err(e.error).io("create", self.path),
        }
    }

    /// Puts it in the place of what has its name, ahead of the sync of that: a power cut may bring back what was there, whole.
    pub fn replace_ahead(self) -> Result<()> {
        self.sync()?;
        self.temporary.persist(&self.path).map(drop).map_err(|e| e.error).io("replace", self.path)
    }
}

/// Lets the disk begin with what was written to a file.
pub(super) fn begin_sync(file: &File) {
    // What is not on the disk yet cannot leave the memory, so the system begins to write it.
    #[cfg(target_os = "linux")]
    let _ = rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed);
    #[cfg(not(target_os = "linux"))]
    let _ = file;
}
