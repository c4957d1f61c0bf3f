//! Locks: `flock` on files of the mailbox, how long a process waits for one, and the process that holds it.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use fs2::FileExt;
use rustix::fs::OFlags;

use crate::disk::below::{metadata, open_with};
use crate::disk::unsynced::open_append;
use crate::{Error, IoContext, Result, processes};

/// A held `flock`. It is released when it is dropped, or when its process ends. The lock file stays.
#[derive(Debug)]
#[must_use = "the lock is released when this is dropped"]
pub struct Lock {
    file: File,
    path: PathBuf,
}

impl Lock {
    /// Takes the lock. Waits up to 20 seconds if another process holds it.
    ///
    /// # Errors
    /// [`Error::Held`] if another process keeps the lock. [`Error::Io`] if the lock file cannot be opened or locked.
    pub fn acquire(path: &Path) -> Result<Self> {
        Self::acquire_with(path, &Patience::default())
    }

    /// [`acquire`](Self::acquire) that waits as long as `patience` says.
    ///
    /// # Errors
    /// Those of [`acquire`](Self::acquire).
    pub fn acquire_with(path: &Path, patience: &Patience) -> Result<Self> {
        Self::wait(path, patience, FileExt::try_lock_exclusive)
    }

    /// [`acquire`](Self::acquire) for a shared lock, which several processes may hold at once.
    ///
    /// # Errors
    /// Those of [`acquire`](Self::acquire).
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

    /// Takes the lock without waiting. Returns `None` if another process holds it.
    ///
    /// # Errors
    /// [`Error::Io`] if the lock file cannot be opened or locked.
    pub fn try_acquire(path: &Path) -> Result<Option<Self>> {
        let deadline = Instant::now() + OF_A_LOOK;
        loop {
            let lock = Self::lock_with(path, FileExt::try_lock_exclusive)?;
            // A process that only looks whether the lock is held shares it meanwhile.
            if lock.is_some() || Self::is_held(path)? || Instant::now() >= deadline {
                return Ok(lock);
            }
            std::thread::sleep(Duration::from_micros(100));
        }
    }

    fn lock_with(path: &Path, try_lock: impl Fn(&File) -> io::Result<()>) -> Result<Option<Self>> {
        Self::lock_file(open_append(path)?, path, try_lock)
    }

    fn lock_file(file: File, path: &Path, try_lock: impl Fn(&File) -> io::Result<()>) -> Result<Option<Self>> {
        Ok(free_or_held(try_lock(&file)).io("lock", path)?.map(|()| Self { file, path: path.to_path_buf() }))
    }

    /// Takes the lock. Blocks until no process holds it, without polling. If several wait, one of them gets it. Call it on a thread of its
    /// own.
    ///
    /// # Errors
    /// [`Error::Io`] if the lock file cannot be opened or locked.
    pub fn acquire_blocking(path: &Path) -> Result<Self> {
        let file = open_append(path)?;
        FileExt::lock_exclusive(&file).io("lock", path)?;
        Ok(Self { file, path: path.to_path_buf() })
    }

    /// True if a process holds the lock for itself. False if the lock file does not exist.
    ///
    /// # Errors
    /// [`Error::Io`] if the lock file cannot be opened or tried.
    pub fn is_held(path: &Path) -> Result<bool> {
        Self::is_refused(path, FileExt::try_lock_shared)
    }

    /// True if a process holds the lock, for itself or shared. False if the lock file does not exist.
    ///
    /// # Errors
    /// Those of [`is_held`](Self::is_held).
    pub fn is_held_or_shared(path: &Path) -> Result<bool> {
        Self::is_refused(path, FileExt::try_lock_exclusive)
    }

    fn is_refused(path: &Path, try_lock: impl Fn(&File) -> io::Result<()>) -> Result<bool> {
        match open_existing(path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
            other => Ok(Self::lock_file(other.io("open", path)?, path, try_lock)?.is_none()),
        }
    }

    /// Waits until no process holds the lock, at most for `limit`. Returns true if the lock is free.
    ///
    /// # Errors
    /// [`Error::Io`] if the lock file cannot be opened or tried.
    pub fn is_free_within(path: &Path, limit: Duration) -> Result<bool> {
        Ok(retry(limit, || Ok((!Self::is_held(path)?).then_some(())))?.is_some())
    }

    /// Blocks until no process holds the lock, without polling. Call it on a thread of its own.
    ///
    /// # Errors
    /// [`Error::Io`] if the lock file cannot be opened or locked.
    pub fn wait_until_free(path: &Path) -> Result<()> {
        let file = match open_existing(path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
            other => other.io("open", path)?,
        };
        FileExt::lock_shared(&file).io("lock", path)?;
        drop(Self { file, path: path.to_path_buf() });
        Ok(())
    }

    /// True if the path still leads to this lock file. Only a process that holds the lock may remove the file, so the answer stays
    /// true while this lock is held.
    pub fn is_named(&self) -> bool {
        let same = |own: fs::Metadata, named: fs::Metadata| (own.dev(), own.ino()) == (named.dev(), named.ino());
        self.file.metadata().ok().zip(metadata(&self.path).ok()).is_some_and(|(own, named)| same(own, named))
    }

    /// The path of the lock file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The open lock file. A process that inherits its descriptor holds the lock as well, until this is dropped.
    pub fn file(&self) -> &File {
        &self.file
    }
}

impl Drop for Lock {
    /// Releases the lock at once. Without this, a process that another thread starts at this moment would hold it a little longer: it has a
    /// copy of the descriptor until it runs its own program.
    fn drop(&mut self) {
        // If this fails, closing the file releases the lock.
        let _ = FileExt::unlock(&self.file);
    }
}

fn open_existing(path: &Path) -> io::Result<File> {
    open_with(path, OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK, 0)
}

/// `None` if another process holds the lock that was tried.
fn free_or_held(tried: io::Result<()>) -> io::Result<Option<()>> {
    match tried {
        Err(e) if e.raw_os_error() == fs2::lock_contended_error().raw_os_error() => Ok(None),
        other => other.map(Some),
    }
}

/// Locks an open file or folder outside of any mailbox. Returns `false` if another process keeps the lock. Closing the file releases it.
///
/// Waits for a moment, because a process that was killed while it started a program leaves its lock to that one until it runs.
///
/// # Errors
/// If the system refuses.
pub fn lock_open_file(file: &File) -> io::Result<bool> {
    lock_within(LEFT_BEHIND, file)
}

fn lock_within(limit: Duration, file: &File) -> io::Result<bool> {
    Ok(retry(limit, || free_or_held(FileExt::try_lock_exclusive(file)))?.is_some())
}

/// Repeats `attempt` until it returns a result, at most for `limit`.
fn retry<T, E>(limit: Duration, attempt: impl Fn() -> Result<Option<T>, E>) -> Result<Option<T>, E> {
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

/// The error for a lock that stayed held. If `limit` is zero, the holder is not looked up, because that reads all of `/proc`.
fn stayed_locked(path: &Path, limit: Duration) -> Error {
    let shown = path.display();
    let holder = if limit.is_zero() { None } else { lock_holder(path) };
    let Some(holder) = holder else {
        let hint = format!("see who holds it with: fuser {}", crate::text::shell_quote(&shown.to_string()));
        return Error::Held { message: format!("{shown} stayed locked for {}", human(limit)), hint: hint.into() };
    };
    let pid = holder.pid;
    let hint = match holder.is_stopped {
        true => format!("continue it with: kill -CONT {pid}, or end it with: kill -KILL {pid}, and repeat the command"),
        false => format!("repeat the command; if that process hangs, end it with: kill -KILL {pid}"),
    };
    Error::Held { message: format!("{shown} stayed locked for {} by {holder}", human(limit)), hint: hint.into() }
}

fn human(limit: Duration) -> String {
    if limit < Duration::from_secs(1) { format!("{} ms", limit.as_millis()) } else { crate::time::human(limit) }
}

/// The patience with processes that only look. A look takes some microseconds, and longer on a busy machine.
const OF_A_LOOK: Duration = Duration::from_secs(10);
/// How long a killed process may leave its lock to a program that it was starting.
const LEFT_BEHIND: Duration = Duration::from_secs(5);
/// The patience of a command, for every lock.
const OF_A_COMMAND: Duration = Duration::from_secs(20);
/// The patience of a service, for each lock once.
const OF_A_SERVICE: Duration = Duration::from_millis(500);

/// How long to wait for a lock. The default is the patience of a command, which has nothing else to do: 20 seconds for every lock.
///
/// A service has other work. It waits half a second for each lock. If the lock stays held, the service only tries that lock from
/// then on, until it was free once.
#[derive(Debug, Clone, Default)]
pub struct Patience {
    /// The locks that a service no longer waits for; `None` for a command. All clones share the set.
    held: Option<Arc<Mutex<HashSet<PathBuf>>>>,
}

impl Patience {
    /// Returns the patience of a service.
    pub fn of_a_service() -> Self {
        Self { held: Some(Arc::default()) }
    }

    /// Returns how long to wait for this lock.
    fn limit(&self, lock: &Path) -> Duration {
        match self.with_held(|held| held.contains(lock)) {
            None => OF_A_COMMAND,
            Some(false) => OF_A_SERVICE,
            Some(true) => Duration::ZERO,
        }
    }

    /// Records that the lock was taken.
    fn was_free(&self, lock: &Path) {
        if self.with_held(|held| held.remove(lock)) == Some(true) {
            tracing::info!("{} is free again", lock.display());
        }
    }

    /// Records that the lock stayed held for the whole [`limit`](Self::limit).
    fn was_held(&self, lock: &Path, error: &crate::Error) {
        if self.with_held(|held| held.insert(lock.to_path_buf())) == Some(true) {
            tracing::warn!(hint = %error.hint(), "{error}; what needs it waits, and all else goes on");
        }
    }

    fn with_held<T>(&self, look: impl FnOnce(&mut HashSet<PathBuf>) -> T) -> Option<T> {
        self.held.as_ref().map(|held| look(&mut held.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

/// A process that holds a lock.
#[derive(Debug, Clone, PartialEq, Eq, derive_more::Display)]
#[display("process {pid} ({}){}", crate::text::excerpt(program, 30), if *is_stopped { ", which a signal has stopped" } else { "" })]
pub struct LockHolder {
    /// Its process id.
    pub pid: u32,
    /// The name of its program.
    pub program: String,
    /// True if a signal or a debugger has stopped the process. It does nothing until it is continued.
    pub is_stopped: bool,
}

impl LockHolder {
    /// The path of the program's file, even if that file is gone by now. `None` if the kernel does not tell it.
    pub fn file(&self) -> Option<PathBuf> {
        let file = processes::Seen::at(i32::try_from(self.pid).ok()?)?.file()?;
        // The kernel adds this suffix if the file is gone or was replaced: see proc_pid_exe(5).
        Some(file.to_str().and_then(|path| path.strip_suffix(" (deleted)")).map_or_else(|| file.clone(), PathBuf::from))
    }
}

/// Returns the process that holds the lock of this file, as `/proc` shows it: the kernel knows it, and no file of the mailbox names
/// it. `None` if no process holds it, if the holder belongs to another user or another container, or on a system without `/proc`.
pub fn lock_holder(path: &Path) -> Option<LockHolder> {
    holder(path, &["READ", "WRITE"])
}

/// [`lock_holder`] for a lock that is held together with others: one that is not stopped, if there is one. A process that only checks the lock does not count: it holds the lock to
/// itself for a moment.
pub fn shared_lock_holder(path: &Path) -> Option<LockHolder> {
    holder(path, &["READ"])
}

fn holder(path: &Path, modes: &[&str]) -> Option<LockHolder> {
    let lock = metadata(path).ok()?;
    // A line of proc_locks(5): `1: FLOCK ADVISORY WRITE 123 00:1b:4567 0 EOF`. On some filesystems the device differs from the one in stat(2).
    let locks = fs::read_to_string(Path::new("/proc").join("locks")).ok()?;
    let lines = locks.lines().map(|line| line.split_ascii_whitespace().collect::<Vec<_>>());
    let (end, is_meant) = (format!(":{}", lock.ino()), |mode: &str| modes.contains(&mode));
    let makers = lines.filter_map(|line| match line[..] {
        [_, _, _, mode, pid, file, ..] if is_meant(mode) && file.ends_with(&end) => pid.parse().ok(),
        _ => None,
    });
    let makers: Vec<u32> = makers.collect();
    if makers.is_empty() {
        return None;
    }
    let found = |pids: &mut dyn Iterator<Item = u32>| -> Vec<LockHolder> {
        let folders = pids.map(|pid| (pid, Path::new("/proc").join(pid.to_string())));
        let holders = folders.filter(|(_, folder)| holds(folder, &lock));
        holders.map(|(pid, folder)| LockHolder { pid, program: program(&folder), is_stopped: is_stopped(&folder) }).collect()
    };
    let mut holders = found(&mut makers.into_iter());
    if holders.is_empty() {
        // The process that took the lock has left it to another one.
        let all = fs::read_dir("/proc").into_iter().flatten().flatten();
        holders = found(&mut all.filter_map(|process| process.file_name().to_str()?.parse().ok()));
    }
    let at_work = holders.iter().position(|holder| !holder.is_stopped).unwrap_or_default();
    (!holders.is_empty()).then(|| holders.swap_remove(at_work))
}

/// True if the process with this id holds the lock of this file, as `/proc` shows it. The lock is not touched. `None` on a system without
/// `/proc`.
pub fn is_locked_by(path: &Path, pid: i32) -> Option<bool> {
    processes::are_visible().then(|| metadata(path).is_ok_and(|lock| holds(&Path::new("/proc").join(pid.to_string()), &lock)))
}

/// True if this process, a folder of `/proc`, holds the lock of this file.
fn holds(process: &Path, lock: &fs::Metadata) -> bool {
    let is_the_file = |fd: &Path| fs::metadata(fd).is_ok_and(|file| (file.dev(), file.ino()) == (lock.dev(), lock.ino()));
    // Many processes may have the file open. Only the one that holds the lock has a `lock:` line: see proc_pid_fdinfo(5).
    let is_locked = |name| fs::read_to_string(process.join("fdinfo").join(name)).is_ok_and(|info| info.contains("\nlock:"));
    let mut open = fs::read_dir(process.join("fd")).into_iter().flatten().flatten();
    open.any(|fd| is_the_file(&fd.path()) && is_locked(fd.file_name()))
}

fn program(process: &Path) -> String {
    fs::read(process.join("comm")).map(|name| String::from_utf8_lossy(&name).trim().to_owned()).unwrap_or_default()
}

fn is_stopped(process: &Path) -> bool {
    let stat = fs::read(process.join("stat")).unwrap_or_default();
    // The program's name stands in parentheses before the state, and may hold any byte, so the last parenthesis counts.
    let behind_name = stat.iter().rposition(|byte| *byte == b')').and_then(|at| stat.get(at + 2));
    matches!(behind_name, Some(b'T' | b't'))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

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
        assert!(!Lock::is_held(&path).unwrap());
        let lock = Lock::acquire(&path).unwrap();
        assert!(lock.is_named());
        fs::remove_file(&path).unwrap();
        assert!(!lock.is_named());
        drop(Lock::acquire(&path).unwrap());
        assert!(!lock.is_named(), "another file has its name now");
    }

    #[test]
    fn a_dropped_lock_is_free_though_its_descriptor_was_copied() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let lock = Lock::acquire(&path).unwrap();
        // A process that is being started has such a copy.
        let _copy = lock.file().try_clone().unwrap();
        drop(lock);
        assert!(!Lock::is_held_or_shared(&path).unwrap());
        let shared = Lock::acquire_shared(&path).unwrap();
        assert!(!Lock::is_held(&path).unwrap() && Lock::is_held_or_shared(&path).unwrap());
        drop(shared);
        assert!(Lock::try_acquire(&path).unwrap().is_some());
    }

    #[test]
    fn an_open_folder_is_locked_once_its_last_holder_lets_go() {
        let folder = tempfile::tempdir().unwrap();
        let open = || File::open(folder.path()).unwrap();
        let held = open();
        assert!(lock_open_file(&held).unwrap());
        let (begun, limit) = (Instant::now(), Duration::from_millis(100));
        assert!(!lock_within(limit, &open()).unwrap() && begun.elapsed() >= limit);
        drop(held);
        // A child of another test has a copy of it until it runs its own program.
        assert!(lock_within(Duration::from_secs(60), &open()).unwrap());
    }

    #[test]
    fn a_process_that_only_looks_keeps_nobody_from_the_lock() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let look = || {
                while !is_over.load(Ordering::Relaxed) {
                    Lock::is_held(&path).unwrap();
                }
            };
            let looks = [scope.spawn(look), scope.spawn(look)];
            let refused = (0..2000).filter(|_| Lock::try_acquire(&path).unwrap().is_none()).count();
            is_over.store(true, Ordering::Relaxed);
            assert!(looks.into_iter().all(|look| look.join().is_ok()));
            assert_eq!(refused, 0);
        });
    }

    #[test]
    fn a_service_waits_for_a_held_lock_only_once_until_it_is_free() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let patience = Patience::of_a_service();
        let took = || {
            let started = Instant::now();
            (Lock::acquire_with(&path, &patience.clone()).map_err(|e| e.is_held()).err(), started.elapsed() >= OF_A_SERVICE)
        };
        let held = Lock::acquire(&path).unwrap();
        assert_eq!(took(), (Some(true), true));
        assert_eq!(patience.limit(&path), Duration::ZERO);
        assert_eq!(took().0, Some(true));
        drop(held);
        assert_eq!(took().0, None);
        assert_eq!(patience.limit(&path), OF_A_SERVICE);
    }

    #[test]
    fn the_holder_of_a_lock_is_found_and_no_mere_reader_of_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let _open = open_append(&path).unwrap();
        assert_eq!(lock_holder(&path), None);
        let me = std::process::id().cast_signed();
        assert_ne!(is_locked_by(&path, me), Some(true));
        let lock = Lock::acquire(&path).unwrap();
        assert_ne!(is_locked_by(&path, me), Some(false));
        assert_ne!(is_locked_by(&path, 1), Some(true));
        let holder = lock_holder(&path).unwrap();
        assert_eq!((holder.pid, holder.is_stopped), (std::process::id(), false));
        drop(lock);
        assert_eq!(lock_holder(&path), None);
    }
}
