//! Derived files. Each keeps what many other files come to, so that no program reads all of these again.
//!
//! One rule holds for all of them:
//!
//! 1. A derived file names the state of its source: of a folder ([`FolderState`]), or of a file that only grows ([`Beginning`]).
//! 2. It counts only if the source is in this state, or if the check of its module shows exactly what came since. Otherwise its reader
//!    reads the source.
//! 3. A program that has read the source writes the file again, if the source stayed the same during the reading. No program fails because
//!    it cannot write: on a read-only mailbox, each reader reads the source.
//! 4. The file is replaced as a whole and not synced, and its length has a limit. After a power cut, the states differ or the file is torn.
//!    Anybody may remove it at any time.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::{disk, document};

/// The content of a derived file.
pub trait Derived: Serialize + DeserializeOwned {
    /// Identifies a state of the source.
    type Source: Serialize + DeserializeOwned + PartialEq;
    /// The longest file that is written or read, in bytes.
    const LONGEST: u64;
}

/// A derived file.
#[derive(Serialize, Deserialize)]
struct File<S, T> {
    schema_version: u32,
    source: S,
    #[serde(flatten)]
    content: T,
}

/// Returns the content of the file at `path`, and the state that its source had. The caller compares that state with the present one.
pub fn read<T: Derived>(path: &Path) -> Option<(T::Source, T)> {
    let file: File<T::Source, T> = document::json(&disk::read(path, T::LONGEST).ok()?)?;
    (file.schema_version == document::SCHEMA_VERSION).then_some((file.source, file.content))
}

/// Returns the content of the file at `path` if it was derived from this state of the source.
pub fn read_of<T: Derived>(path: &Path, state: &T::Source) -> Option<T> {
    read(path).filter(|(source, _)| source == state).map(|(_, content)| content)
}

/// Returns the content of the file at `path` if `file` still has the beginning that it was derived from, and the length of that beginning.
pub fn read_beginning<T: Derived<Source = Beginning>>(path: &Path, file: &Metadata) -> Option<(u64, T)> {
    let (Beginning { inode, bytes }, content) = read(path)?;
    (inode == file.ino() && bytes <= file.len()).then_some((bytes, content))
}

/// Writes the file at `path`, and makes its folder. If that fails, the next reader reads the source.
pub fn write<T: Derived>(path: &Path, source: &T::Source, content: &T) {
    let Ok(bytes) = document::to_json(&File { schema_version: document::SCHEMA_VERSION, source, content }) else { return };
    let write = || disk::replace_unsynced(path, &bytes, SystemTime::now());
    if bytes.len() as u64 <= T::LONGEST
        && write().is_err_and(|e| e.is_missing_file())
        && path.parent().is_some_and(|folder| disk::touch_folder(folder).is_ok())
    {
        let _ = write();
    }
}

/// The kernel's clock of file times ticks at least this often.
const TICK: Duration = Duration::from_millis(20);

/// Identifies the state of a folder. Every name that comes or goes changes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FolderState {
    inode: u64,
    seconds: i64,
    nanoseconds: i64,
    /// The number of folders in it, plus two. Some filesystems say 1 for every folder.
    pub(crate) links: u64,
}

impl FolderState {
    /// The present state. `None` if the folder does not exist.
    pub fn of(folder: &Path) -> Option<Self> {
        let meta = disk::metadata(folder).ok()?;
        Some(Self { inode: meta.ino(), seconds: meta.ctime(), nanoseconds: meta.ctime_nsec(), links: meta.nlink() })
    }

    /// The number of folders in the folder. `None` if its filesystem does not count them.
    pub fn folders(&self) -> Option<u64> {
        self.links.checked_sub(2)
    }

    /// How many folders came into the folder since it had the state `before`. `None` if some went, or if nobody can tell.
    pub fn came_since(&self, before: &Self) -> Option<u64> {
        self.folders()?.checked_sub(before.folders()?).filter(|_| self.inode == before.inode)
    }

    /// True if the next change of the folder has another time than the last one. A coarse clock of file times (Linux before 6.13) gives two
    /// changes within a few milliseconds the same time.
    pub fn is_settled(&self) -> bool {
        let since_1970 = u64::try_from(self.seconds).ok().zip(u32::try_from(self.nanoseconds).ok());
        let changed = since_1970.map(|(seconds, nanoseconds)| SystemTime::UNIX_EPOCH + Duration::new(seconds, nanoseconds));
        changed.and_then(|changed| changed.elapsed().ok()).is_some_and(|since| since > TICK)
    }
}

/// The beginning of a file that only grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Beginning {
    inode: u64,
    /// The length of the beginning, to the end of a line.
    pub bytes: u64,
}

impl Beginning {
    /// The first `bytes` of a file.
    pub fn of(file: &Metadata, bytes: u64) -> Self {
        Self { inode: file.ino(), bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Names {
        names: Vec<String>,
    }

    impl Derived for Names {
        type Source = FolderState;
        const LONGEST: u64 = 1_000;
    }

    fn folder() -> tempfile::TempDir {
        tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
    }

    #[test]
    fn a_derived_file_counts_for_one_state_of_its_folder() {
        let folder = folder();
        let (source, path) = (folder.path().join("source"), folder.path().join("lists").join("w.json"));
        fs::create_dir(&source).unwrap();
        let (state, names) = (FolderState::of(&source).unwrap(), Names { names: vec!["a".into()] });
        write(&path, &state, &names);
        assert_eq!(read_of(&path, &state), Some(names));
        std::thread::sleep(2 * TICK);
        fs::create_dir(source.join("b")).unwrap();
        let now = FolderState::of(&source).unwrap();
        assert!(read_of::<Names>(&path, &now).is_none() && now.came_since(&state) == Some(1));
        assert!(state.is_settled());
        let text = fs::read_to_string(&path).unwrap();
        for damage in [text.replace("\"schema_version\":1", "\"schema_version\":2"), text[..20].to_owned(), String::new(), "[]".into()] {
            assert_ne!(damage, text);
            fs::write(&path, damage).unwrap();
            assert!(read::<Names>(&path).is_none());
        }
    }

    #[test]
    fn what_is_too_long_or_refused_is_not_kept() {
        let folder = folder();
        let state = FolderState::of(folder.path()).unwrap();
        write(&folder.path().join("long"), &state, &Names { names: vec!["n".repeat(1_000)] });
        fs::write(folder.path().join("file"), "").unwrap();
        write(&folder.path().join("file").join("below"), &state, &Names { names: Vec::new() });
        assert!(!folder.path().join("long").exists() && folder.path().join("file").is_file());
    }
}
