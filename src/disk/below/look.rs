//! Looking at files without reading them.

use std::ffi::OsString;
use std::fs::Metadata;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::FileType;

use crate::disk::below::OpenFolder;
use crate::disk::below::open_with;
use crate::platform::files;

/// What is known of a file, a folder or a link of this path; a link is not followed.
pub fn metadata(path: impl AsRef<Path>) -> io::Result<Metadata> {
    open_with(path.as_ref(), files::LOOK, 0)?.metadata()
}

/// Whether something has this path.
#[must_use]
pub fn exists(path: impl AsRef<Path>) -> bool {
    metadata(path).is_ok()
}

/// One name in a folder.
#[derive(Debug)]
pub struct Entry {
    /// The name.
    pub name: OsString,
    /// Its path.
    pub path: PathBuf,
    kind: FileType,
}

impl Entry {
    /// Whether it is a folder.
    #[must_use]
    pub fn is_folder(&self) -> bool {
        self.kind == FileType::Directory
    }

    /// Whether it is a symbolic link.
    #[must_use]
    pub fn is_link(&self) -> bool {
        self.kind == FileType::Symlink
    }

    /// Whether it is a regular file.
    #[must_use]
    pub fn is_file(&self) -> bool {
        self.kind == FileType::RegularFile
    }
}

/// The names in a folder.
pub fn entries(folder: &Path) -> io::Result<impl Iterator<Item = io::Result<Entry>> + use<>> {
    use std::os::unix::ffi::OsStrExt;
    let open = OpenFolder::open(folder)?;
    let entries = rustix::fs::Dir::read_from(open.file())?;
    let own = |name: &[u8]| !matches!(name, b"." | b"..");
    Ok(entries.filter(move |e| e.as_ref().map_or(true, |e| own(e.file_name().to_bytes()))).map(move |entry| {
        let entry = entry?;
        let name = std::ffi::OsStr::from_bytes(entry.file_name().to_bytes()).to_owned();
        let kind = match entry.file_type() {
            // Some filesystems do not say it.
            FileType::Unknown => kind_of(&open, &name)?,
            known => known,
        };
        Ok(Entry { path: open.path().join(&name), name, kind })
    }))
}

fn kind_of(folder: &OpenFolder, name: &OsString) -> io::Result<FileType> {
    let meta = rustix::fs::statat(folder.file(), name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW)?;
    Ok(FileType::from_raw_mode(meta.st_mode))
}
