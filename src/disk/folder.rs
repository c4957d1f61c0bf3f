//! Folders: made for their owner alone, and trusted only if they are.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::Path;

use super::{parent, sync_folder};
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

/// Checks that `path` is a folder of ours, no link, and that nobody else may write into it.
///
/// # Errors
/// [`Error::NotFound`] where there is none, [`Error::Failed`] where it cannot be trusted.
pub fn check_folder(path: &Path) -> Result<()> {
    let shown = path.display();
    let quoted = crate::text::shell_quote(&shown.to_string());
    let meta = match fs::symlink_metadata(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            return Err(Error::not_found(
                format!("there is no mailbox at {shown}"),
                "the first ask-post makes it; another one: --mailbox DIR or $ASKBOX_DIR",
            ));
        }
        other => other.io("look at", path)?,
    };
    if meta.is_symlink() {
        return Err(Error::failed(
            format!("{shown} is a symbolic link"),
            "name the folder it points to, with --mailbox DIR or $ASKBOX_DIR",
        ));
    }
    if !meta.is_dir() {
        return Err(Error::failed(format!("{shown} is no folder"), "move it out of the way, or choose another mailbox with --mailbox DIR"));
    }
    let me = rustix::process::geteuid().as_raw();
    if meta.uid() != me {
        return Err(Error::failed(
            format!("{shown} belongs to user {}, not to you (user {me})", meta.uid()),
            format!("use a mailbox of your own, or as its owner: chown {me} {quoted}"),
        ));
    }
    let mode = meta.permissions().mode() & 0o777;
    if mode & 0o022 != 0 {
        return Err(Error::failed(format!("{shown} may be written by others (mode {mode:04o})"), format!("chmod go-w {quoted}")));
    }
    Ok(())
}
