//! The system calls on files and folders that [`disk`](crate::disk) needs.

#![allow(clippy::disallowed_methods, reason = "only `disk` calls what writes here; a test looks")]

use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{Mode, OFlags, Stat};
use rustix::io::{Errno, Result};

/// Flags that open a file, a folder or a link itself to look at it. macOS needs the permission to read for that. `NONBLOCK` avoids
/// a wait at a FIFO.
pub const LOOK: OFlags = OFlags::SYMLINK.union(OFlags::NONBLOCK);

/// Flags that open a folder to look up names in it.
pub const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY);

/// Opens the file or folder at `below`, a path without `..`. Fails at a symbolic link.
///
/// # Errors
/// Always [`Errno::NOSYS`]: macOS cannot do it in one step.
pub fn open_beneath(_folder: impl AsFd, _below: &Path, _flags: OFlags, _mode: Mode) -> Result<OwnedFd> {
    Err(Errno::NOSYS)
}

/// Makes a FIFO that only this user may use; fails if the name exists.
pub fn create_fifo(folder: &File, name: &Path) -> Result<()> {
    use nix::sys::stat::Mode as Permissions;
    let path = path_of(folder)?.join(name);
    nix::unistd::mkfifo(&path, Permissions::S_IRUSR | Permissions::S_IWUSR).map_err(|e| Errno::from_raw_os_error(e as i32))
}

/// Does nothing: macOS has no call that starts a write without waiting for it.
pub fn begin_sync(_file: &File) {}

/// Makes all data durable that was written to the filesystem of an opened folder. Syncs all filesystems, and then the buffer of the disk.
pub fn sync_filesystem(folder: &File) -> Result<()> {
    rustix::fs::sync();
    rustix::fs::fcntl_fullfsync(folder)
}

/// True if the system reports every change below an opened folder. On a network filesystem it reports only local changes.
pub fn tells_all_changes(folder: &OwnedFd) -> bool {
    // `MNT_LOCAL` of macOS, from sys/mount.h.
    const LOCAL: u32 = 0x1000;
    rustix::fs::fstatfs(folder).is_ok_and(|stat| stat.f_flags & LOCAL != 0)
}

/// A path that leads to this folder.
pub fn path_to_start_in(folder: &OwnedFd) -> std::path::PathBuf {
    path_of(folder).unwrap_or_default()
}

/// The path of an opened folder, with links resolved.
pub fn real_path(folder: &OwnedFd) -> std::io::Result<std::path::PathBuf> {
    Ok(path_of(folder)?)
}

fn path_of(folder: impl AsFd) -> Result<std::path::PathBuf> {
    use std::os::unix::ffi::OsStringExt;
    let path = rustix::fs::getpath(folder)?;
    Ok(std::ffi::OsString::from_vec(path.into_bytes()).into())
}

/// Device and inode. Together they identify a file.
pub fn identity(meta: &Stat) -> (u64, u64) {
    (u64::from(meta.st_dev.cast_unsigned()), meta.st_ino)
}

/// Type and permission bits.
pub fn mode(meta: &Stat) -> u32 {
    meta.st_mode.into()
}

/// Turns permission bits into the type that the system calls take.
pub fn permissions(bits: u32) -> Mode {
    Mode::from_bits_truncate(u16::try_from(bits & 0o7777).unwrap_or_default())
}
