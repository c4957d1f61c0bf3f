//! Looking at files without reading them.

use std::ffi::OsString;
use std::fs::Metadata;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, statat};

use crate::disk::below::OpenFolder;
use crate::disk::below::open_with;
use crate::disk::if_there;
use crate::error::{IoContext, Result};
use crate::platform::files;

/// Returns the metadata of the file, folder or link at this path, without following a link.
///
/// # Errors
/// [`std::io::Error`] of kind `NotFound` if the path does not exist, or any other error of the system.
pub fn metadata(path: impl AsRef<Path>) -> io::Result<Metadata> {
    open_with(path.as_ref(), files::LOOK, 0)?.metadata()
}

/// True if a file, a folder or a link has this path. False also if the system refuses to look.
pub fn exists(path: impl AsRef<Path>) -> bool {
    metadata(path).is_ok()
}

/// One entry of a folder.
#[derive(Debug)]
pub struct Entry {
    /// The name.
    pub name: OsString,
    /// The folder's path with the name.
    pub path: PathBuf,
    kind: FileType,
}

impl Entry {
    /// True if the entry is a folder.
    pub fn is_folder(&self) -> bool {
        self.kind == FileType::Directory
    }

    /// True if the entry is a symbolic link.
    pub fn is_link(&self) -> bool {
        self.kind == FileType::Symlink
    }

    /// True if the entry is a regular file.
    pub fn is_file(&self) -> bool {
        self.kind == FileType::RegularFile
    }
}

/// Lists a folder, without `.` and `..`, in the order of the filesystem.
///
/// # Errors
/// [`std::io::Error`] if the folder cannot be opened. An item is an error if the system cannot read that entry.
pub fn entries(folder: &Path) -> io::Result<impl Iterator<Item = io::Result<Entry>> + use<>> {
    use std::os::unix::ffi::OsStrExt;
    let open = OpenFolder::open(folder)?;
    let entries = rustix::fs::Dir::read_from(open.file())?;
    let own = |name: &[u8]| !matches!(name, b"." | b"..");
    Ok(entries.filter(move |e| e.as_ref().map_or(true, |e| own(e.file_name().to_bytes()))).map(move |entry| {
        let entry = entry?;
        let name = std::ffi::OsStr::from_bytes(entry.file_name().to_bytes()).to_owned();
        let kind = match entry.file_type() {
            // Some filesystems do not report the kind of an entry.
            FileType::Unknown => FileType::from_raw_mode(statat(open.file(), &name, AtFlags::SYMLINK_NOFOLLOW)?.st_mode),
            known => known,
        };
        Ok(Entry { path: open.path().join(&name), name, kind })
    }))
}

/// [`entries`] of a folder that may be missing.
///
/// # Errors
/// [`Error::Io`](crate::error::Error::Io) if it cannot be opened for another reason.
pub fn entries_if_there(folder: &Path) -> Result<Option<impl Iterator<Item = io::Result<Entry>> + use<>>> {
    if_there(entries(folder).io("read", folder))
}
