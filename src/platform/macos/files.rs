//! Files and folders: the calls that [`disk`](crate::disk) is made of.

#![allow(clippy::disallowed_methods, reason = "only `disk` calls what writes here; a test looks")]

use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{Mode, OFlags, Stat};
use rustix::io::{Errno, Result};

/// Flags that open a file, a folder or a link itself to look at it. macOS needs the permission to read for that, and would wait at a FIFO.
pub(crate) const LOOK: OFlags = OFlags::SYMLINK.union(OFlags::NONBLOCK);

/// Flags that open a folder to look up names in it.
pub(crate) const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY);

/// Opens what lies at `below`, a path without `..`, and fails at a symbolic link.
///
/// # Errors
/// Always [`Errno::NOSYS`]: macOS cannot do it in one step.
pub(crate) fn open_beneath(_folder: impl AsFd, _below: &Path, _flags: OFlags, _mode: Mode) -> Result<OwnedFd> {
    Err(Errno::NOSYS)
}

/// Makes a FIFO that only this user may use; fails if the name exists.
#[cfg(feature = "relaunch")]
pub(crate) fn create_fifo(folder: &File, name: &Path) -> Result<()> {
    use nix::sys::stat::Mode as Permissions;
    let path = path_of(folder)?.join(name);
    nix::unistd::mkfifo(&path, Permissions::S_IRUSR | Permissions::S_IWUSR).map_err(|e| Errno::from_raw_os_error(e as i32))
}

/// Lets the system begin to write a file to the disk, without waiting for it. macOS has no call for that.
pub(crate) fn begin_sync(_file: &File) {}

/// Makes everything durable that was written to the filesystem of an opened folder: of all filesystems, and then the disk's own buffer.
pub(crate) fn sync_filesystem(folder: &File) -> Result<()> {
    rustix::fs::sync();
    rustix::fs::fcntl_fullfsync(folder)
}

/// Whether the system tells of every change below an opened folder. Of a filesystem that lies elsewhere, it tells only what was done here.
#[cfg(feature = "relaunch")]
pub(crate) fn tells_all_changes(folder: &OwnedFd) -> bool {
    const LOCAL: u32 = 0x1000;
    rustix::fs::fstatfs(folder).is_ok_and(|stat| stat.f_flags & LOCAL != 0)
}

/// A path that leads to this folder.
#[cfg(feature = "relaunch")]
pub(crate) fn path_to_start_in(folder: &OwnedFd) -> std::path::PathBuf {
    path_of(folder).unwrap_or_default()
}

/// The path of an opened folder, with links resolved.
#[cfg(feature = "relaunch")]
pub(crate) fn real_path(folder: &OwnedFd) -> std::io::Result<std::path::PathBuf> {
    Ok(path_of(folder)?)
}

#[cfg(feature = "relaunch")]
fn path_of(folder: impl AsFd) -> Result<std::path::PathBuf> {
    use std::os::unix::ffi::OsStringExt;
    let path = rustix::fs::getpath(folder)?;
    Ok(std::ffi::OsString::from_vec(path.into_bytes()).into())
}

/// Device and inode: which file it is.
pub(crate) fn identity(meta: &Stat) -> (u64, u64) {
    (u64::from(meta.st_dev.cast_unsigned()), meta.st_ino)
}

/// Type and permission bits.
pub(crate) fn mode(meta: &Stat) -> u32 {
    meta.st_mode.into()
}

/// The permission bits of a number.
pub(crate) fn permissions(bits: u32) -> Mode {
    Mode::from_bits_truncate(u16::try_from(bits & 0o7777).unwrap_or_default())
}
