//! Which process holds a lock, as the kernel knows it: no file says so.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::disk::below::metadata;
#[cfg(feature = "relaunch")]
use crate::platform::processes;

/// A process that holds a lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockHolder {
    /// Its process id.
    pub pid: u32,
    /// The name of its program.
    pub program: String,
    /// Whether a signal or a debugger has stopped it: it does nothing until it is continued.
    pub is_stopped: bool,
}

impl LockHolder {
    /// The file that it runs, also if that file is gone by now; `None` if it is not known.
    #[cfg(feature = "relaunch")]
    #[must_use]
    pub fn file(&self) -> Option<PathBuf> {
        let file = processes::Seen::at(i32::try_from(self.pid).ok()?)?.file()?;
        // So the kernel marks a file that is gone or was replaced.
        Some(file.to_str().and_then(|path| path.strip_suffix(" (deleted)")).map_or_else(|| file.clone(), PathBuf::from))
    }
}

impl std::fmt::Display for LockHolder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let stopped = if self.is_stopped { ", which a signal has stopped" } else { "" };
        write!(f, "process {} ({}){stopped}", self.pid, crate::text::excerpt(&self.program, 30))
    }
}

/// The process that holds the lock of this file; `None` if none does, or if it belongs to another user or another container.
#[must_use]
pub fn lock_holder(path: &Path) -> Option<LockHolder> {
    let lock = metadata(path).ok()?;
    let is_the_file = |fd: &PathBuf| fs::metadata(fd).is_ok_and(|file| (file.dev(), file.ino()) == (lock.dev(), lock.ino()));
    let entries = |folder: PathBuf| fs::read_dir(folder).into_iter().flatten().flatten();
    for process in entries("/proc".into()) {
        let Some(pid) = process.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        let folder = process.path();
        // Many processes may have the file open, one of them under a lock.
        let is_locked = |name| fs::read_to_string(folder.join("fdinfo").join(name)).is_ok_and(|info| info.contains("\nlock:"));
        if entries(folder.join("fd")).any(|fd| is_the_file(&fd.path()) && is_locked(fd.file_name())) {
            return Some(LockHolder { pid, program: program(&folder), is_stopped: is_stopped(&folder) });
        }
    }
    None
}

fn program(process: &Path) -> String {
    fs::read(process.join("comm")).map(|name| String::from_utf8_lossy(&name).trim().to_owned()).unwrap_or_default()
}

fn is_stopped(process: &Path) -> bool {
    let stat = fs::read(process.join("stat")).unwrap_or_default();
    // The name of the program stands in parentheses before the state, and may hold any byte.
    let behind_name = stat.iter().rposition(|byte| *byte == b')').and_then(|at| stat.get(at + 2));
    matches!(behind_name, Some(b'T' | b't'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::Lock;

    #[test]
    fn the_holder_of_a_lock_is_found_and_who_only_has_the_file_open_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let _open = crate::disk::open_append(&path).unwrap();
        assert_eq!(lock_holder(&path), None);
        let lock = Lock::acquire(&path).unwrap();
        let holder = lock_holder(&path).unwrap();
        assert_eq!((holder.pid, holder.is_stopped), (std::process::id(), false));
        drop(lock);
        assert!(crate::disk::lock::becomes_free(&path));
        assert_eq!(lock_holder(&path), None);
    }
}
