//! Making folders, and making the names in them durable.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::disk::below::{OpenFolder, Place, parent, sync_folder};
use crate::disk::below::{is_root, open_with};
use crate::disk::trust::check_folder;
use crate::error::{Error, IoContext, Result};
use crate::platform::files;

/// Opens a folder. The caller keeps this folder even if its path leads to another one later. Links are followed outside of a
/// mailbox only.
///
/// # Errors
/// [`Error::Io`] if the system refuses.
pub fn open_folder(path: &Path) -> Result<OwnedFd> {
    open_with(path, files::FOLDER, 0).map(OwnedFd::from).io("open", path)
}

/// Makes a folder and the missing folders above it with mode 0700, durably. Does nothing if the folder exists. Never makes the
/// folder of an opened mailbox again: if that folder is gone, the mailbox is gone.
///
/// # Errors
/// [`Error::Io`] if the system refuses. [`Error::Failed`] if the path has no parent, as `/`.
pub fn create_folder(path: &Path) -> Result<()> {
    let above = parent(path)?;
    match create_folder_in(path) {
        Err(e) if e.is_missing_file() && !is_root(above) => {
            create_folder(above)?;
            create_folder_in(path)
        }
        other => other,
    }
}

/// Creates a folder that only this user may write to, if it is missing, and checks it. Returns its path.
///
/// # Errors
/// Those of [`create_folder`] and [`check_folder`].
pub fn private_folder(path: PathBuf) -> Result<PathBuf> {
    create_folder(&path)?;
    check_folder(&path)?;
    Ok(path)
}

/// [`create_folder`] in a folder that must exist.
///
/// # Errors
/// [`Error::Io`] if the system refuses.
pub fn create_folder_in(path: &Path) -> Result<()> {
    let place = Place::at(path).io("create", path)?;
    match place.create_folder() {
        Ok(()) => place.folder.sync(),
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(e) => Err(e).io("create", path),
    }
}

/// Makes the names in a folder durable, even if another process made them. Does the same for the folders above it, up to the first
/// one that another user owns; skips those that this user may not open.
///
/// # Errors
/// [`Error::Io`] if the folder itself cannot be synced, or if the disk reports an error for one above it.
pub fn sync_names(path: &Path) -> Result<()> {
    sync_folder(path)?;
    let me = rustix::process::geteuid().as_raw();
    let is_ours = |folder: &&Path| folder.symlink_metadata().is_ok_and(|m| m.uid() == me);
    path.ancestors().skip(1).take_while(is_ours).try_for_each(|folder| match sync_folder(folder) {
        Err(Error::Io { source, .. }) if source.raw_os_error() != Some(rustix::io::Errno::IO.raw_os_error()) => Ok(()),
        other => other,
    })
}

/// Makes the names in a folder and in the folders above it durable, up to and including `last`.
///
/// # Errors
/// [`Error::Io`] if the system refuses one of them.
pub fn sync_names_up_to(folder: &Path, last: &Path) -> Result<()> {
    folder.ancestors().take_while(|f| f.starts_with(last)).try_for_each(sync_folder)
}

/// Makes all data durable that was written to the filesystem of this folder. One call is enough for any number of folders.
///
/// # Errors
/// [`Error::Io`] if the system refuses.
pub fn sync_filesystem(folder: &Path) -> Result<()> {
    let open = OpenFolder::open(folder).io("open", folder)?;
    files::sync_filesystem(open.file()).map_err(io::Error::from).io("sync the filesystem of", folder)
}

/// [`create_folder`] without a sync, for at most three missing levels. Use it for folders whose loss does no harm.
///
/// # Errors
/// [`Error::Io`] if the system refuses. [`Error::Failed`] if the path has no parent, as `/`.
pub fn touch_folder(path: &Path) -> Result<()> {
    touch_levels(path, 3)
}

fn touch_levels(path: &Path, missing: u8) -> Result<()> {
    let make = || match Place::at(path).and_then(|place| place.create_folder()) {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        other => other.io("create", path),
    };
    let above = parent(path)?;
    match make() {
        Err(e) if e.is_missing_file() && missing > 1 && !is_root(above) => touch_levels(above, missing - 1).and_then(|()| make()),
        other => other,
    }
}
