//! Whom a folder belongs to, and who may write to it.

use std::io;
use std::path::Path;

use crate::error::{Error, IoContext, Result};

/// Checks that `path` is a folder of this user, not a symbolic link, and that no other user may write to it.
///
/// # Errors
/// [`Error::NotFound`] if it does not exist, [`Error::Failed`] if it is not to be trusted.
pub fn check_folder(path: &Path) -> Result<()> {
    match rustix::fs::lstat(path) {
        Err(rustix::io::Errno::NOENT) => Err(no_mailbox(path)),
        other => check_trust(path, &other.map_err(io::Error::from).io("look at", path)?, user()),
    }
}

/// The user whom this process acts for.
pub(in crate::disk) fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

pub(in crate::disk) fn no_mailbox(path: &Path) -> Error {
    Error::not_found(
        format!("there is no mailbox at {}", path.display()),
        "the first ask-post makes it; another one: --mailbox DIR or $ASKBOX_DIR",
    )
}

/// Whether it is a folder of this user that no other user may write to.
pub(in crate::disk) fn is_private(meta: &rustix::fs::Stat, user: u32) -> bool {
    let is_folder = rustix::fs::FileType::from_raw_mode(meta.st_mode).is_dir();
    is_folder && meta.st_uid == user && meta.st_mode & 0o022 == 0
}

/// Whether nothing is wrong with it but that its group may write to it, as to every folder that is made under umask 002.
pub(in crate::disk) fn is_loose(meta: &rustix::fs::Stat, user: u32) -> bool {
    let is_folder = rustix::fs::FileType::from_raw_mode(meta.st_mode).is_dir();
    is_folder && meta.st_uid == user && meta.st_mode & 0o022 == 0o020
}

/// Fails unless it is a folder of this user that no other user may write to.
pub(in crate::disk) fn check_trust(path: &Path, meta: &rustix::fs::Stat, me: u32) -> Result<()> {
    if is_private(meta, me) {
        return Ok(());
    }
    let shown = path.display();
    let quoted = crate::text::shell_quote(&shown.to_string());
    let kind = rustix::fs::FileType::from_raw_mode(meta.st_mode);
    if kind.is_symlink() {
        return Err(Error::failed(
            format!("{shown} is a symbolic link"),
            "name the folder it points to, with --mailbox DIR or $ASKBOX_DIR",
        ));
    }
    if !kind.is_dir() {
        return Err(Error::failed(
            format!("{shown} is not a folder"),
            "move it out of the way, or choose another mailbox with --mailbox DIR",
        ));
    }
    if meta.st_uid != me {
        return Err(Error::failed(
            format!("{shown} belongs to user {}, not to you (user {me})", meta.st_uid),
            "use a mailbox of your own: --mailbox DIR or $ASKBOX_DIR",
        ));
    }
    let mode = meta.st_mode & 0o777;
    let hint = if is_of_a_mailbox(path) { format!("chmod go-w {quoted}") } else { NOT_OURS.to_owned() };
    Err(Error::failed(format!("{shown} may be written by others (mode {mode:04o})"), hint))
}

/// What to do about a folder that is no mailbox, such as `/tmp` or `/var/local`: its mode is as others want it.
const NOT_OURS: &str = "this folder is no mailbox; name one, or a new folder in it, with --mailbox DIR or $ASKBOX_DIR";

/// Whether the folder is a mailbox, lies in one, or can become one because it is empty. The mode of no other folder is changed, and no
/// message suggests to change it.
#[must_use]
pub fn is_of_a_mailbox(path: &Path) -> bool {
    let exists = |path: &Path| rustix::fs::statat(rustix::fs::CWD, path, rustix::fs::AtFlags::SYMLINK_NOFOLLOW).is_ok();
    let is_one = |folder: &Path| ["pending", "answered", "checkpoints"].iter().any(|name| exists(&folder.join(name)));
    path.ancestors().any(is_one) || is_empty(path)
}

fn is_empty(path: &Path) -> bool {
    use rustix::fs::{Dir, Mode, OFlags};
    let folder = rustix::fs::open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty());
    let entries = folder.and_then(|folder| Dir::read_from(folder)?.collect::<rustix::io::Result<Vec<_>>>());
    entries.is_ok_and(|entries| entries.iter().all(|entry| [c".", c".."].contains(&entry.file_name())))
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
