//! System calls that the other files of this room share.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use rustix::fs::{Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use crate::error::{Error, IoContext, Result};

/// Opens a file; a new file gets mode 0600.
pub(super) fn open(path: &Path, flags: OFlags) -> io::Result<File> {
    open_with(path, flags, 0o600)
}

/// [`open`] with the mode of a new file.
pub(super) fn open_with(path: &Path, flags: OFlags, mode: u32) -> io::Result<File> {
    let open = || rustix::fs::open(path, flags | OFlags::CLOEXEC, Mode::from_raw_mode(mode));
    Ok(rustix::io::retry_on_intr(open)?.into())
}

/// Renames a file without a sync. Fails with [`io::ErrorKind::AlreadyExists`] where `to` exists.
pub(super) fn rename_noreplace(from: &Path, to: &Path) -> io::Result<()> {
    let cwd = rustix::fs::CWD;
    match rustix::fs::renameat_with(cwd, from, cwd, to, RenameFlags::NOREPLACE) {
        // Filesystems without RENAME_NOREPLACE: a link refuses an existing name just as well.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
            fs::hard_link(from, to)?;
            fs::remove_file(from)
        }
        other => Ok(other?),
    }
}

/// Makes the names in a folder durable.
pub(super) fn sync_folder(folder: &Path) -> Result<()> {
    open(folder, OFlags::RDONLY | OFlags::DIRECTORY).io("open", folder)?.sync_all().io("sync", folder)
}

/// The folder that a file lies in.
pub(super) fn parent(path: &Path) -> Result<&Path> {
    match path.parent() {
        Some(p) if p.as_os_str().is_empty() => Ok(Path::new(".")),
        Some(p) => Ok(p),
        None => Err(Error::failed(format!("{} has no folder", path.display()), "name a file")),
    }
}
