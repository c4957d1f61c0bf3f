//! Removing files and folders. No symbolic link is followed.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::disk::below::{OpenFolder, Place, parent};
use crate::error::{Error, IoContext, Result};

/// Removes a file durably. Does nothing if the file does not exist.
///
/// # Errors
/// [`Error::Io`] if the system refuses.
pub fn remove(path: &Path) -> Result<()> {
    let place = match Place::at(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other.io("remove", path)?,
    };
    match place.remove() {
        Ok(()) => place.folder.sync(),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(e) => Err(e).io("remove", path),
    }
}

/// Removes a folder if it is empty, without a sync. Otherwise the folder stays, and also if the system refuses.
pub fn remove_folder_if_empty(folder: &Path) {
    let _ = Place::at(folder).and_then(|place| place.remove_folder());
}

/// The result of [`remove_known`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Removed {
    /// The disk space of the removed files, in bytes.
    pub bytes: u64,
    /// True if the folder itself was removed, or did not exist. It stays if it holds an unknown name.
    pub whole: bool,
}

/// Removes the known files and FIFOs from the folder `path` and from its known subfolders. Then removes each of these folders that
/// is empty. Does nothing if the folder does not exist.
///
/// A name is known if `known(depth, name, is_folder)` returns true. `depth` is 0 for the entries of `path` itself.
///
/// Nothing is synced: a power cut may bring back a part, which the next call removes.
///
/// # Errors
/// [`Error::Io`] if the system refuses: a part may be removed then. [`Error::Failed`] if `path` has no name.
pub fn remove_known(path: &Path, known: &dyn Fn(usize, &str, bool) -> bool) -> Result<Removed> {
    let mut removed = Removed { bytes: 0, whole: true };
    let name = path.file_name().ok_or_else(|| Error::failed(format!("{} has no name", path.display()), "name a folder"))?;
    let above = match OpenFolder::open_to_change(parent(path)?) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(removed),
        other => other.io("open", parent(path)?)?,
    };
    let above = above.file().as_fd();
    removed.whole = clear(above, Path::new(name), 0, known, &mut removed.bytes).map_err(io::Error::from).io("remove", path)?;
    Ok(removed)
}

fn clear(
    above: BorrowedFd<'_>,
    name: &Path,
    depth: usize,
    known: &dyn Fn(usize, &str, bool) -> bool,
    bytes: &mut u64,
) -> rustix::io::Result<bool> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = match rustix::fs::openat(above, name, flags, Mode::empty()) {
        Err(Errno::NOENT) => return Ok(true),
        Err(Errno::LOOP | Errno::NOTDIR) => return Ok(false),
        other => other?,
    };
    let mut whole = true;
    let entries = rustix::fs::Dir::read_from(&folder)?.collect::<rustix::io::Result<Vec<_>>>()?;
    for entry in entries.iter().map(|e| e.file_name()).filter(|n| !matches!(n.to_bytes(), b"." | b"..")) {
        let meta = match rustix::fs::statat(&folder, entry, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => continue,
            other => other?,
        };
        let kind = FileType::from_raw_mode(meta.st_mode);
        let is_known = |is_folder| entry.to_str().is_ok_and(|name| known(depth, name, is_folder));
        if kind.is_dir() && is_known(true) {
            whole &= clear(folder.as_fd(), Path::new(std::ffi::OsStr::new(entry.to_str().unwrap_or_default())), depth + 1, known, bytes)?;
        } else if (kind.is_file() || kind.is_fifo()) && is_known(false) {
            match rustix::fs::unlinkat(&folder, entry, AtFlags::empty()) {
                Err(Errno::NOENT) => {}
                other => other?,
            }
            *bytes += u64::try_from(meta.st_blocks).unwrap_or_default() * 512;
        } else {
            whole = false;
        }
    }
    if !whole {
        return Ok(false);
    }
    match rustix::fs::unlinkat(above, name, AtFlags::REMOVEDIR) {
        Err(Errno::NOENT) => Ok(true),
        Err(Errno::NOTEMPTY | Errno::EXIST) => Ok(false),
        other => other.map(|()| true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn unknown_names_stay_and_no_link_is_followed() {
        let place = tempfile::tempdir().unwrap();
        let _root = crate::disk::Root::open(place.path(), crate::disk::Purpose::Change).unwrap();
        let (round, elsewhere) = (place.path().join("runs/q"), place.path().join("elsewhere"));
        fs::create_dir_all(round.join("1")).unwrap();
        fs::create_dir_all(elsewhere.join("1")).unwrap();
        fs::write(elsewhere.join("1/run.json"), "theirs").unwrap();
        fs::write(round.join("1/run.json"), "ours").unwrap();
        std::os::unix::fs::symlink(&elsewhere, round.join("2")).unwrap();
        let known = |depth: usize, name: &str, is_folder: bool| if is_folder { depth == 0 } else { name == "run.json" };
        assert!(!remove_known(&round, &known).unwrap().whole);
        assert!(!round.join("1").exists() && round.join("2").symlink_metadata().is_ok() && elsewhere.join("1/run.json").exists());
        fs::remove_file(round.join("2")).unwrap();
        assert!(remove_known(&round, &known).unwrap().whole && !round.exists());
        // The folder itself is not reached through a link, either.
        std::os::unix::fs::symlink(&elsewhere, place.path().join("runs/link")).unwrap();
        assert!(!remove_known(&place.path().join("runs/link"), &known).unwrap().whole);
        assert!(remove_known(&place.path().join("runs/link/1"), &known).is_err());
        assert!(elsewhere.join("1/run.json").exists());
        assert!(remove_known(&place.path().join("never/was"), &known).unwrap().whole);
    }
}
