//! Decides whether to trust a folder of the mailbox: only this user may be able to write to it. A folder that other users may write
//! to is refused. [`tighten`] makes it private if it was made under umask 002 and no other user has written to it.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use rustix::fs::{AtFlags, Dir, Mode, OFlags};

use crate::error::{Error, IoContext, Result};

/// Checks that `path` is a folder of this user and not a symbolic link, and that no other user may write to it.
///
/// # Errors
/// [`Error::NotFound`] if the folder does not exist. [`Error::Failed`] if it is not to be trusted. [`Error::Io`] if the system refuses.
pub fn check_folder(path: &Path) -> Result<()> {
    match rustix::fs::lstat(path) {
        Err(rustix::io::Errno::NOENT) => Err(no_mailbox(path)),
        other => check_trust(path, &other.map_err(io::Error::from).io("look at", path)?, user()),
    }
}

/// The effective user id of this process.
pub(super) fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// The hint where a mailbox is missing.
pub const MAKES_A_MAILBOX: (&str, &str) =
    ("the first question makes it; another one: --mailbox DIR or $ASKBOX_DIR; make it now", "askbox setup");

pub(super) fn no_mailbox(path: &Path) -> Error {
    Error::not_found(format!("there is no mailbox at {}", path.display()), MAKES_A_MAILBOX)
}

/// True if this is a folder of this user, and no other user may write to it.
pub(super) fn is_private(meta: &rustix::fs::Stat, user: u32) -> bool {
    let is_folder = rustix::fs::FileType::from_raw_mode(meta.st_mode).is_dir();
    is_folder && meta.st_uid == user && meta.st_mode & 0o022 == 0
}

/// True if the only thing wrong with the folder is that its group may write to it. Every folder made under umask 002 is like this.
pub(super) fn is_loose(meta: &rustix::fs::Stat, user: u32) -> bool {
    let is_folder = rustix::fs::FileType::from_raw_mode(meta.st_mode).is_dir();
    is_folder && meta.st_uid == user && meta.st_mode & 0o022 == 0o020
}

/// Fails unless this is a folder of this user that only this user may write to.
pub(super) fn check_trust(path: &Path, meta: &rustix::fs::Stat, me: u32) -> Result<()> {
    if is_private(meta, me) {
        return Ok(());
    }
    let shown = path.display();
    let quoted = crate::text::shell_quote(&shown.to_string());
    let kind = rustix::fs::FileType::from_raw_mode(meta.st_mode);
    if kind.is_symlink() {
        let hint = "name the folder it points to, with --mailbox DIR or $ASKBOX_DIR";
        return Err(Error::failed(format!("{shown} is a symbolic link"), hint));
    }
    if !kind.is_dir() {
        let hint = "move it out of the way, or choose another mailbox with --mailbox DIR";
        return Err(Error::failed(format!("{shown} is not a folder"), hint));
    }
    if meta.st_uid != me {
        let hint = "use a mailbox of your own: --mailbox DIR or $ASKBOX_DIR";
        return Err(Error::failed(format!("{shown} belongs to user {}, not to you (user {me})", meta.st_uid), hint));
    }
    let mode = meta.st_mode & 0o777;
    let hint = if is_of_a_mailbox(path) { format!("chmod go-w {quoted}") } else { NOT_OURS.to_owned() };
    Err(Error::failed(format!("{shown} may be written by others (mode {mode:04o})"), hint))
}

/// The hint for a folder that is not a mailbox, such as `/tmp` or `/var/local`. Other users want its mode as it is.
const NOT_OURS: &str = "this folder is no mailbox; name one, or a new folder in it, with --mailbox DIR or $ASKBOX_DIR";

/// True if the folder is a mailbox, lies in one, or can become one because it is empty. For any other folder, askbox neither
/// changes the mode nor suggests to change it.
pub fn is_of_a_mailbox(path: &Path) -> bool {
    let exists = |path: &Path| rustix::fs::statat(rustix::fs::CWD, path, AtFlags::SYMLINK_NOFOLLOW).is_ok();
    let is_one = |folder: &Path| ["pending", "answered", "checkpoints"].iter().any(|name| exists(&folder.join(name)));
    path.ancestors().any(is_one) || is_empty(path)
}

fn is_empty(path: &Path) -> bool {
    let folder = rustix::fs::open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty());
    let entries = folder.and_then(|folder| Dir::read_from(folder)?.collect::<rustix::io::Result<Vec<_>>>());
    entries.is_ok_and(|entries| entries.iter().all(|entry| [c".", c".."].contains(&entry.file_name())))
}

/// Makes a folder of this user private that is too open only because it was made under umask 002, the default of common
/// distributions. The group of such a folder may write to it. The folder becomes private (0700) if every entry in it belongs to this
/// user or to root: then no other user has left anything there. A folder that is not a mailbox stays as it is, because `--mailbox`
/// may name any folder. The members of the group are not looked up, because a directory service may hold them.
///
/// `name` is its name in the folder `above`, and `path` its whole path. Its group may write to it, and nothing else is wrong with it.
///
/// # Errors
/// [`Error::Failed`] if another user left something in it, or if it is not to be trusted for another reason.
pub(super) fn tighten(above: BorrowedFd<'_>, name: &Path, path: &Path, me: u32) -> Result<()> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = rustix::fs::openat(above, name, flags, Mode::empty()).map_err(io::Error::from).io("open", path)?;
    let before = rustix::fs::fstat(&folder).map_err(io::Error::from).io("look at", path)?;
    // Another process may have changed the folder since the caller looked.
    if !is_loose(&before, me) || !is_of_a_mailbox(path) {
        return check_trust(path, &before, me);
    }
    check_owners(folder.as_fd(), path, me)?;
    if rustix::fs::fchmod(&folder, Mode::from_raw_mode(before.st_mode & 0o7700)).is_err() {
        // The filesystem may be read-only. Then the folder is refused.
        return check_trust(path, &before, me);
    }
    // The second look finds what another user wrote between the first look and the new mode.
    check_owners(folder.as_fd(), path, me).inspect_err(|_| {
        let _ = rustix::fs::fchmod(&folder, Mode::from_raw_mode(before.st_mode & 0o7777));
    })
}

/// Fails if an entry of the folder belongs to a user other than this one or root.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::create_folder;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_folder_that_others_may_write_to_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m");
        assert_eq!(check_folder(&path).unwrap_err().exit_code(), 3);
        create_folder(&path.join("deep/er")).unwrap();
        check_folder(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(check_folder(&path).unwrap_err().to_string().contains("0777"));
    }
}
