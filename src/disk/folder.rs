//! Folders: made for their owner alone, and trusted only if they are.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::Path;

use rustix::fs::OFlags;

use crate::disk::primitives::{parent, sync_folder};
use crate::error::{Error, IoContext, Result};

/// Makes a folder of mode 0700 and everything above it that is missing, durably.
pub fn create_folder(path: &Path) -> Result<()> {
    match create_folder_in(path) {
        Err(e) if e.is_missing_file() => {
            create_folder(parent(path)?)?;
            create_folder_in(path)
        }
        other => other,
    }
}

/// [`create_folder`] below a folder that must exist.
pub fn create_folder_in(path: &Path) -> Result<()> {
    match fs::DirBuilder::new().mode(0o700).create(path) {
        Ok(()) => sync_folder(parent(path)?),
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(e) => Err(e).io("create", path),
    }
}

/// Makes sure that what lies in a folder has its name on the disk, whoever made it, and that the folder and those of ours above
/// it have theirs, as far as those can be opened.
pub fn sync_names(path: &Path) -> Result<()> {
    sync_folder(path)?;
    let me = rustix::process::geteuid().as_raw();
    let is_ours = |folder: &&Path| folder.symlink_metadata().is_ok_and(|m| m.uid() == me);
    path.ancestors().skip(1).take_while(is_ours).try_for_each(|folder| match sync_folder(folder) {
        Err(Error::Io { source, .. }) if source.raw_os_error() != Some(rustix::io::Errno::IO.raw_os_error()) => Ok(()),
        other => other,
    })
}

/// Makes the names durable that lie in a folder and in those above it, `last` included.
pub fn sync_names_up_to(folder: &Path, last: &Path) -> Result<()> {
    folder.ancestors().take_while(|f| f.starts_with(last)).try_for_each(sync_folder)
}

/// [`create_folder`] without a sync: for what can be found out another way. Three levels at most are missing.
pub fn touch_folder(path: &Path) -> Result<()> {
    touch_levels(path, 3)
}

fn touch_levels(path: &Path, missing: u8) -> Result<()> {
    let make = || match fs::DirBuilder::new().mode(0o700).create(path) {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        other => other.io("create", path),
    };
    match make() {
        Err(e) if e.is_missing_file() && missing > 1 => touch_levels(parent(path)?, missing - 1).and_then(|()| make()),
        other => other,
    }
}

/// Checks that `path` is a folder of ours, no link, and that nobody else may write into it.
///
/// # Errors
/// [`Error::NotFound`] where there is none, [`Error::Failed`] where it cannot be trusted.
pub fn check_folder(path: &Path) -> Result<()> {
    match rustix::fs::lstat(path) {
        Err(rustix::io::Errno::NOENT) => Err(Error::not_found(
            format!("there is no mailbox at {}", path.display()),
            "the first ask-post makes it; another one: --mailbox DIR or $ASKBOX_DIR",
        )),
        other => check_trust(path, &other.map_err(io::Error::from).io("look at", path)?),
    }
}

/// [`check_folder`] for a folder and those of these names in it, which may be missing. Tells whether one is.
pub fn check_folders(path: &Path, names: impl IntoIterator<Item = &'static str>) -> Result<bool> {
    // One look-up of the path, and all the folders are surely of the same one.
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let Ok(folder) = rustix::fs::open(path, flags, rustix::fs::Mode::empty()) else {
        return check_folder(path).map(|()| true);
    };
    let me = rustix::process::geteuid().as_raw();
    check_trust(path, &rustix::fs::fstat(&folder).map_err(io::Error::from).io("look at", path)?)?;
    let mut missing = false;
    for name in names {
        match rustix::fs::statat(&folder, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW) {
            Err(rustix::io::Errno::NOENT) => missing = true,
            Err(e) => return Err(io::Error::from(e)).io("look at", path.join(name)),
            Ok(meta) if is_alone(&meta, me) => {}
            Ok(meta) => check_trust(&path.join(name), &meta)?,
        }
    }
    Ok(missing)
}

/// A folder that belongs to this user and that nobody else may write into.
fn is_alone(meta: &rustix::fs::Stat, user: u32) -> bool {
    let is_folder = rustix::fs::FileType::from_raw_mode(meta.st_mode).is_dir();
    is_folder && meta.st_uid == user && meta.st_mode & 0o022 == 0
}

fn check_trust(path: &Path, meta: &rustix::fs::Stat) -> Result<()> {
    let me = rustix::process::geteuid().as_raw();
    if is_alone(meta, me) {
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
        return Err(Error::failed(format!("{shown} is no folder"), "move it out of the way, or choose another mailbox with --mailbox DIR"));
    }
    if meta.st_uid != me {
        return Err(Error::failed(
            format!("{shown} belongs to user {}, not to you (user {me})", meta.st_uid),
            format!("use a mailbox of your own, or as its owner: chown {me} {quoted}"),
        ));
    }
    let mode = meta.st_mode & 0o777;
    Err(Error::failed(format!("{shown} may be written by others (mode {mode:04o})"), format!("chmod go-w {quoted}")))
}

#[cfg(test)]
mod tests {
    use super::*;
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
