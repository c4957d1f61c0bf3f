//! Files and folders: the calls that [`disk`](crate::disk) is made of.

#![allow(clippy::disallowed_methods, reason = "only `disk` calls what writes here; a test looks")]

use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Result;

/// Flags that open a file, a folder or a link itself to look at it. Its content cannot be read by that, so no permission is needed.
pub(crate) const LOOK: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW);

/// Flags that open a folder to look up names in it.
pub(crate) const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY);

/// Opens what lies at `below`, a path without `..`, and fails at a symbolic link.
///
/// # Errors
/// [`rustix::io::Errno::NOSYS`] or [`rustix::io::Errno::PERM`] where the system cannot do it in one step: Linux before 5.6, and sandboxes
/// that do not know the call.
pub(crate) fn open_beneath(folder: impl AsFd, below: &Path, flags: OFlags, mode: Mode) -> Result<OwnedFd> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    rustix::io::retry_on_intr(|| rustix::fs::openat2(&folder, below, flags, mode, resolve))
}

/// Makes a FIFO that only this user may use; fails if the name exists.
#[cfg(feature = "relaunch")]
pub(crate) fn create_fifo(folder: &File, name: &Path) -> Result<()> {
    rustix::fs::mknodat(folder, name, rustix::fs::FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)
}

/// Lets the system begin to write a file to the disk, without waiting for it.
pub(crate) fn begin_sync(file: &File) {
    // A page that is not on the disk yet cannot leave the memory, so the system begins to write it.
    let _ = rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed);
}

/// Makes everything durable that was written to the filesystem of an opened folder.
pub(crate) fn sync_filesystem(folder: &File) -> Result<()> {
    rustix::fs::syncfs(folder)
}

/// Whether the system tells of every change below an opened folder. Of a filesystem that lies elsewhere, or that a program makes, it tells
/// only what was done through this system.
#[cfg(feature = "relaunch")]
pub(crate) fn tells_all_changes(folder: &OwnedFd) -> bool {
    // NFS, SMB 1 to 3, 9P, AFS, Ceph, Coda, FUSE, virtual machines' shared folders: the numbers of linux/magic.h.
    const ELSEWHERE: [u64; 11] = [
        0x6969,
        0x517B,
        0xFF53_4D42,
        0xFE53_4D42,
        0x0102_1997,
        0x5346_414F,
        0x6B41_4653,
        0x00C3_6400,
        0x7375_7245,
        0x6573_5546,
        0x786F_4256,
    ];
    rustix::fs::fstatfs(folder).is_ok_and(|stat| u64::try_from(stat.f_type).is_ok_and(|kind| !ELSEWHERE.contains(&(kind & 0xFFFF_FFFF))))
}

/// A path that leads to this very folder, whatever its name means by now, for as long as this process or a child before its `exec` uses it.
#[cfg(feature = "relaunch")]
pub(crate) fn path_to_start_in(folder: &OwnedFd) -> std::path::PathBuf {
    use std::os::fd::AsRawFd;
    format!("/proc/self/fd/{}", folder.as_raw_fd()).into()
}

/// The path of an opened folder, with links resolved.
#[cfg(feature = "relaunch")]
pub(crate) fn real_path(folder: &OwnedFd) -> std::io::Result<std::path::PathBuf> {
    std::fs::read_link(path_to_start_in(folder))
}

/// Device and inode: which file it is.
pub(crate) fn identity(meta: &Stat) -> (u64, u64) {
    (meta.st_dev, meta.st_ino)
}

/// Type and permission bits.
pub(crate) fn mode(meta: &Stat) -> u32 {
    meta.st_mode
}

/// The permission bits of a number.
pub(crate) fn permissions(bits: u32) -> Mode {
    Mode::from_raw_mode(bits)
}
