//! Folders of this user that are too open only because they were made under umask 002, the default of common distributions.
//!
//! Such a folder is writable by its group. It becomes private (0700) if every entry in it belongs to this user or to root: then nobody
//! else has left anything there. A folder that is no mailbox stays as it is, for `--mailbox` may name any. The groups' members are not asked for, because a directory service may hold them.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use rustix::fs::{AtFlags, Dir, Mode, OFlags};

use crate::disk::trust::{check_trust, is_loose, is_of_a_mailbox};
use crate::error::{Error, IoContext, Result};

/// Makes the folder `name` private, which is at `path` and only too open.
///
/// # Errors
/// [`Error::Failed`] if another user left something in it, or if it is not to be trusted for another reason.
pub(in crate::disk) fn tighten(above: BorrowedFd<'_>, name: &Path, path: &Path, me: u32) -> Result<()> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = rustix::fs::openat(above, name, flags, Mode::empty()).map_err(io::Error::from).io("open", path)?;
    let before = rustix::fs::fstat(&folder).map_err(io::Error::from).io("look at", path)?;
    // Another process may have changed it meanwhile.
    if !is_loose(&before, me) || !is_of_a_mailbox(path) {
        return check_trust(path, &before, me);
    }
    check_owners(folder.as_fd(), path, me)?;
    if rustix::fs::fchmod(&folder, Mode::from_raw_mode(before.st_mode & 0o7700)).is_err() {
        // The filesystem may be read-only. The folder stays refused.
        return check_trust(path, &before, me);
    }
    // The second look is for what another user wrote since the first one.
    check_owners(folder.as_fd(), path, me).inspect_err(|_| {
        let _ = rustix::fs::fchmod(&folder, Mode::from_raw_mode(before.st_mode & 0o7777));
    })
}

/// Fails if an entry of the folder belongs to another user than this one and root.
fn check_owners(folder: BorrowedFd<'_>, path: &Path, me: u32) -> Result<()> {
    for entry in Dir::read_from(folder).map_err(io::Error::from).io("read", path)? {
        let entry = entry.map_err(io::Error::from).io("read", path)?;
        if [c".", c".."].contains(&entry.file_name()) {
            continue;
        }
        let owner = match rustix::fs::statat(folder, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW) {
            Err(rustix::io::Errno::NOENT) => continue,
            other => other.map_err(io::Error::from).io("look at", path)?.st_uid,
        };
        if owner != me && owner != 0 {
            let shown = crate::text::path_word(path);
            return Err(Error::failed(
                format!(
                    "{} may be written by others, and {} in it belongs to user {owner}",
                    path.display(),
                    entry.file_name().to_string_lossy()
                ),
                format!("look at it (ls -la {shown}), remove what is not yours, and then: chmod go-w {shown}"),
            ));
        }
    }
    Ok(())
}
