//! Locks: `flock` on a file. A lock ends with its process; the lock file stays.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fs2::FileExt;
use rustix::fs::OFlags;

use crate::disk::below::metadata;
use crate::disk::below::open_with;
use crate::disk::lock::Patience;
use crate::disk::lock::lock_holder;
use crate::disk::unsynced::open_append;
use crate::error::{Error, IoContext, Result};

/// A held `flock`. It is released when it is dropped or its process ends; the file stays.
#[derive(Debug)]
#[must_use = "the lock is released when this is dropped"]
pub struct Lock {
    file: File,
    path: PathBuf,
}

impl Lock {
    /// Waits for the lock as a command does.
    ///
    /// # Errors
    /// [`Error::Held`] if another process keeps it.
    pub fn acquire(path: &Path) -> Result<Self> {
        Self::acquire_with(path, &Patience::default())
    }

    /// [`acquire`](Self::acquire) with another patience.
    pub fn acquire_with(path: &Path, patience: &Patience) -> Result<Self> {
        Self::wait(path, patience, FileExt::try_lock_exclusive)
    }

    /// [`acquire`](Self::acquire) of a lock that several processes may hold at once.
    pub fn acquire_shared(path: &Path) -> Result<Self> {
        Self::wait(path, &Patience::default(), FileExt::try_lock_shared)
    }

    fn wait(path: &Path, patience: &Patience, try_lock: impl Fn(&File) -> io::Result<()>) -> Result<Self> {
        let limit = patience.limit(path);
        if let Some(lock) = retry(limit, || Self::lock_with(path, &try_lock))? {
            patience.was_free(path);
            return Ok(lock);
        }
        let error = stayed_locked(path, limit);
        patience.was_held(path, &error);
        Err(error)
    }

    /// Takes the lock; `None` if another process holds it.
    pub fn try_acquire(path: &Path) -> Result<Option<Self>> {
        Self::lock_with(path, FileExt::try_lock_exclusive)
    }

    fn lock_with(path: &Path, try_lock: impl Fn(&File) -> io::Result<()>) -> Result<Option<Self>> {
        let file = open_append(path)?;
        match try_lock(&file) {
            Ok(()) => Ok(Some(Self { file, path: path.to_path_buf() })),
            Err(e) if e.raw_os_error() == fs2::lock_contended_error().raw_os_error() => Ok(None),
            Err(e) => Err(e).io("lock", path),
        }
    }

    /// Whether a process holds the lock. A missing lock file means that none does.
    pub fn is_held(path: &Path) -> Result<bool> {
        let file = match open_existing(path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(false),
            other => other.io("open", path)?,
        };
        match FileExt::try_lock_shared(&file) {
            Ok(()) => Ok(false),
            Err(e) if e.raw_os_error() == fs2::lock_contended_error().raw_os_error() => Ok(true),
            Err(e) => Err(e).io("lock", path),
        }
    }

    /// Waits until no process holds the lock, at most for `limit`. Returns whether it is free.
    pub fn is_free_within(path: &Path, limit: Duration) -> Result<bool> {
        Ok(retry(limit, || Ok((!Self::is_held(path)?).then_some(())))?.is_some())
    }

    /// Blocks until no process holds the lock, without polling. Call it on a thread of its own.
    pub fn wait_until_free(path: &Path) -> Result<()> {
        match open_existing(path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
            other => FileExt::lock_shared(&other.io("open", path)?).io("lock", path),
        }
    }

    /// Whether the path still names this lock file. A process that removes a lock file holds its lock meanwhile, so the answer stays
    /// right for the holder.
    #[must_use]
    pub fn is_named(&self) -> bool {
        let same = |own: fs::Metadata, named: fs::Metadata| (own.dev(), own.ino()) == (named.dev(), named.ino());
        self.file.metadata().ok().zip(metadata(&self.path).ok()).is_some_and(|(own, named)| same(own, named))
    }

    /// The path of the lock file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The open lock file. A child process that inherits it keeps the lock.
    #[must_use]
    pub fn file(&self) -> &File {
        &self.file
    }
}

fn open_existing(path: &Path) -> io::Result<File> {
    open_with(path, OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK, 0)
}

/// Tries until there is a result, at most for `limit`.
fn retry<T>(limit: Duration, attempt: impl Fn() -> Result<Option<T>>) -> Result<Option<T>> {
    let deadline = Instant::now() + limit;
    let mut pause = Duration::from_micros(200);
    loop {
        let result = attempt()?;
        if result.is_some() || Instant::now() >= deadline {
            return Ok(result);
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}

/// The error for a lock that stayed held. With no time to wait, the holder is not looked up, because that reads all of `/proc`.
fn stayed_locked(path: &Path, limit: Duration) -> Error {
    let shown = path.display();
    let holder = if limit.is_zero() { None } else { lock_holder(path) };
    let Some(holder) = holder else {
        let hint = format!("see who holds it with: fuser {}", crate::text::shell_quote(&shown.to_string()));
        return Error::Held { message: format!("{shown} stayed locked for {}", human(limit)), hint };
    };
    let pid = holder.pid;
    let hint = match holder.is_stopped {
        true => format!("continue it with: kill -CONT {pid}, or end it with: kill -KILL {pid}, and repeat the command"),
        false => format!("repeat the command; if that process hangs, end it with: kill -KILL {pid}"),
    };
    Error::Held { message: format!("{shown} stayed locked for {} by {holder}", human(limit)), hint }
}

fn human(limit: Duration) -> String {
    if limit < Duration::from_secs(1) { format!("{} ms", limit.as_millis()) } else { crate::time::human(limit) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_excludes_until_it_is_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        assert!(!Lock::is_held(&path).unwrap());
        let lock = Lock::acquire(&path).unwrap();
        assert!(Lock::is_held(&path).unwrap());
        assert!(Lock::try_acquire(&path).unwrap().is_none());
        drop(lock);
        assert!(crate::disk::becomes_free(&path));
        let lock = Lock::acquire(&path).unwrap();
        assert!(lock.is_named());
        fs::remove_file(&path).unwrap();
        assert!(!lock.is_named());
        drop(Lock::acquire(&path).unwrap());
        assert!(!lock.is_named(), "another file has its name now");
    }
}
