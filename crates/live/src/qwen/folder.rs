//! The private folder of one session: a named pipe with Qwen's events, and a file with the replies.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use uuid::Uuid;

use askbox_cli::program;
use askbox_mailbox::{Error, IoContext, Result, disk};

/// The begin of the folder's name.
const PREFIX: &str = "askbox-qwen-";

/// The folder of one session.
pub(crate) struct Folder(PathBuf);

impl Folder {
    /// Makes the folder and the file for the replies. The process beside the session makes the pipe.
    pub(crate) fn make() -> Result<Self> {
        let runtime = program::env("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_absolute() && is_private(path));
        let path = runtime.unwrap_or_else(std::env::temp_dir).join(format!("{PREFIX}{}", Uuid::new_v4()));
        disk::touch_folder(&path)?;
        let folder = Self::open(path)?;
        disk::touch(&folder.replies())?;
        Ok(folder)
    }

    /// Takes a folder that was made. Refuses one that another user could look into.
    pub(crate) fn open(path: PathBuf) -> Result<Self> {
        disk::metadata(&path).io("look at", &path)?;
        let is_named = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(PREFIX.as_bytes()));
        if !is_named || !is_private(&path) {
            return Err(Error::failed(format!("{} is not a private folder of this user", path.display()), "askbox live qwen"));
        }
        Ok(Self(path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// The pipe with Qwen's events.
    pub(crate) fn events(&self) -> PathBuf {
        self.0.join("events")
    }

    /// The file with the replies. Qwen looks at its size, so it only grows.
    pub(crate) fn replies(&self) -> PathBuf {
        self.0.join("replies")
    }

    /// True if a process reads the pipe.
    pub(crate) fn is_read(&self) -> bool {
        disk::fifo::open_writer(&self.events()).is_ok_and(|writer| writer.is_some())
    }

    /// Removes the folder with its two files, unless something else is in its place.
    pub(crate) fn remove(&self) {
        if !is_private(&self.0) {
            return;
        }
        let _ = disk::untouch(&self.events());
        let _ = disk::untouch(&self.replies());
        disk::remove_folder_if_empty(&self.0);
    }
}

/// True if this is a folder of this user, and no other user can look into it.
fn is_private(path: &Path) -> bool {
    let is_own = |meta: &std::fs::Metadata| meta.uid() == rustix::process::geteuid().as_raw() && meta.mode() & 0o077 == 0;
    disk::metadata(path).is_ok_and(|meta| meta.is_dir() && is_own(&meta))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn the_folder_of_a_session_is_private_and_goes_with_its_files() {
        let folder = Folder::make().unwrap();
        assert_eq!(disk::metadata(folder.path()).unwrap().mode() & 0o777, 0o700);
        assert!(!folder.is_read());
        let reader = disk::fifo::open_reader(&folder.events()).unwrap();
        assert!(folder.is_read());
        drop(reader);
        assert!(!folder.is_read());
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o750)).unwrap();
        assert!(Folder::open(folder.path().to_path_buf()).is_err(), "others may look into it");
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o700)).unwrap();
        folder.remove();
        assert!(!folder.path().exists());
        let other = tempfile::tempdir().unwrap();
        std::fs::write(other.path().join("events"), "").unwrap();
        std::os::unix::fs::symlink(other.path(), folder.path()).unwrap();
        folder.remove();
        assert!(other.path().join("events").exists(), "a link is in its place");
        std::fs::remove_file(folder.path()).unwrap();
        assert!(Folder::open(other.path().to_path_buf()).is_err(), "it has another name");
    }
}
