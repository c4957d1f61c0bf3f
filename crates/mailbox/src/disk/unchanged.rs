//! Changing and removing a file that its owner may save at the same moment: only if it still has the known content.

use std::io::ErrorKind;
use std::path::Path;

use rustix::io::Errno;

use crate::disk::below::{Place, parent};
use crate::disk::temporary::{Temporary, TemporaryName};
use crate::error::{IoContext, Result};

/// Replaces the file if its content is exactly `before`. Returns `false` if it is not, and leaves the file as another
/// program has written it.
///
/// The content is compared after the two files have exchanged their names, and they are exchanged back if it differs. So no edit is lost
/// that is saved between the comparison and the change. On a filesystem that cannot exchange names, the content is compared in front
/// of the change only.
///
/// # Errors
/// Those of [`replace`](super::replace).
pub fn replace_if(path: &Path, before: &[u8], after: &[u8]) -> Result<bool> {
    let target = Place::at(path).io("write in", parent(path)?)?;
    let Some(mode) = target.mode() else { return Ok(false) };
    let temporary = Temporary::write(&target, after, mode)?;
    temporary.sync()?;
    match temporary.name.exchange(&target) {
        Ok(()) => {}
        Err(Errno::NOENT) => return Ok(false),
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
            if !target.holds(before).io("read", path)? {
                return Ok(false);
            }
            temporary.name.replace(&target).io("replace", path)?;
            return target.folder.sync().map(|()| true);
        }
        Err(e) => return Err(e.into()).io("replace", path),
    }
    let back = || temporary.name.exchange(&target).map_err(std::io::Error::from).io("restore", path);
    match temporary.name.holds(before) {
        Ok(true) => target.folder.sync().inspect_err(|_| drop(back())).map(|()| true),
        Ok(false) => {
            back()?;
            // A third content was saved over ours before the files were exchanged back. It is the newest.
            if !temporary.name.holds(after).io("read", path)? {
                back()?;
            }
            target.folder.sync().map(|()| false)
        }
        Err(e) => back().and(Err(e).io("read", path)),
    }
}

/// Removes the file if its content is exactly `before`. Returns `false` if it is not, and leaves the file as another
/// program has written it. Returns `true` if the file does not exist.
///
/// The content is compared while the file has a temporary name, so no edit is lost.
///
/// # Errors
/// [`Error::Io`](crate::error::Error::Io) if the system refuses.
pub fn remove_if(path: &Path, before: &[u8]) -> Result<bool> {
    let target = Place::at(path).io("remove", path)?;
    let taken = match TemporaryName::take(&target) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(true),
        other => other.io("remove", path)?,
    };
    let is_known = taken.holds(before);
    if matches!(is_known, Ok(true)) {
        drop(taken);
        return target.folder.sync().map(|()| true);
    }
    match taken.place(&target) {
        // Another program has written the file anew. Its content is the newest.
        Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
        other => other.io("restore", path)?,
    }
    target.folder.sync()?;
    is_known.io("read", path)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn only_the_known_content_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("settings.json");
        fs::write(&path, "mine").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        assert!(replace_if(&path, b"mine", b"mine and yours").unwrap());
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
        // A person saved the file after it was read: also a longer, a shorter and an empty content.
        for edit in ["an edit", "mine and yours, and more", "mine", ""] {
            fs::write(&path, edit).unwrap();
            assert!(!replace_if(&path, b"mine and yours", b"lost").unwrap());
            assert_eq!(fs::read_to_string(&path).unwrap(), edit);
        }
        fs::remove_file(&path).unwrap();
        assert!(!replace_if(&path, b"", b"lost").unwrap() && !path.exists());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "a temporary file was left behind");
    }

    #[test]
    fn only_the_known_content_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("settings.json");
        fs::write(&path, "an edit").unwrap();
        assert!(!remove_if(&path, b"ours").unwrap());
        assert_eq!(fs::read_to_string(&path).unwrap(), "an edit");
        assert!(remove_if(&path, b"an edit").unwrap() && !path.exists());
        assert!(remove_if(&path, b"an edit").unwrap());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "a temporary file was left behind");
    }
}
