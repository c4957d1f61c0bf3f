//! The system calls on files and folders that [`disk`](crate::disk) needs.

#![allow(clippy::disallowed_methods, reason = "only `disk` calls what writes here; a test looks")]

use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Result;

/// Flags that open a file, a folder or a link itself to look at it. They need no permission to read, because the content cannot be
/// read this way.
pub const LOOK: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW);

/// Flags that open a folder to look up names in it.
pub const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY);

/// Opens the file or folder at `below`, a path without `..`. Fails at a symbolic link.
///
/// # Errors
/// [`rustix::io::Errno::NOSYS`] or [`rustix::io::Errno::PERM`] if the system cannot do it in one step: Linux before 5.6 cannot
/// (openat2(2)), nor can a sandbox that does not know the call.
pub fn open_beneath(folder: impl AsFd, below: &Path, flags: OFlags, mode: Mode) -> Result<OwnedFd> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    rustix::io::retry_on_intr(|| rustix::fs::openat2(&folder, below, flags, mode, resolve))
}

/// Makes a FIFO that only this user may use; fails if the name exists.
pub fn create_fifo(folder: &File, name: &Path) -> Result<()> {
    rustix::fs::mknodat(folder, name, rustix::fs::FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)
}

/// Starts to write a file to the disk, without waiting until it is written.
pub fn begin_sync(file: &File) {
    // The advice asks the system to drop the file's pages from memory. Changed pages must be on the disk before that, so the system
    // begins to write them (`mm/fadvise.c` of Linux).
    let _ = rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed);
}

/// Makes everything durable that was written to the filesystem of an opened folder.
pub fn sync_filesystem(folder: &File) -> Result<()> {
    rustix::fs::syncfs(folder)
}

/// True if the kernel reports every change below an opened folder. On network and FUSE filesystems it reports only local changes.
pub fn tells_all_changes(folder: &OwnedFd) -> bool {
    // NFS, SMB 1 to 3, 9P, AFS, Ceph, Coda, FUSE, and the shared folders of virtual machines. The numbers are from linux/magic.h.
    const ELSEWHERE: [u64; 11] = [
        0x6969, 0x517B, 0xFF53_4D42, 0xFE53_4D42, 0x0102_1997, 0x5346_414F, 0x6B41_4653, 0x00C3_6400, 0x7375_7245, 0x6573_5546, 0x786F_4256,
    ];
    rustix::fs::fstatfs(folder).is_ok_and(|stat| u64::try_from(stat.f_type).is_ok_and(|kind| !ELSEWHERE.contains(&(kind & 0xFFFF_FFFF))))
}

/// A path that leads to this exact folder, even if its name leads to another one by now. It works while this process, or a child
/// before its `exec`, uses it.
pub fn path_to_start_in(folder: &OwnedFd) -> std::path::PathBuf {
    use std::os::fd::AsRawFd;
    format!("/proc/self/fd/{}", folder.as_raw_fd()).into()
}

/// The path of an opened folder, with links resolved.
pub fn real_path(folder: &OwnedFd) -> std::io::Result<std::path::PathBuf> {
    std::fs::read_link(path_to_start_in(folder))
}

/// Device and inode. Together they identify a file.
pub fn identity(meta: &Stat) -> (u64, u64) {
    (meta.st_dev, meta.st_ino)
}

/// Type and permission bits.
pub fn mode(meta: &Stat) -> u32 {
    meta.st_mode
}

/// Turns permission bits into the type that the system calls take.
pub fn permissions(bits: u32) -> Mode {
    Mode::from_raw_mode(bits)
}
