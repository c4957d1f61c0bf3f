//! File events of the kernel, as hints: the receiver of a hint reads the folder again. A lost, repeated or late hint costs time,
//! but never loses a question.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::time::Duration;

use notify::event::{AccessKind, AccessMode};
use notify::{Config, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use rustix::io::Errno;

use crate::error::{Error, IoContext, Result};

/// A notice that something may have changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hint {
    /// The file or folder at this path may have changed.
    At(PathBuf),
    /// Events were lost, so anything may have changed.
    Anywhere,
}

/// A source of hints. Dropping it ends them.
#[derive(derive_more::Debug)]
#[debug("Hints")]
pub struct Hints {
    watcher: RecommendedWatcher,
}

impl Hints {
    /// Starts a thread that calls `take` with every hint.
    ///
    /// # Errors
    /// [`Error::Failed`] if the system refuses file events. [`Error::Io`] if it refuses the thread.
    pub fn new(take: impl Fn(Hint) + Send + 'static) -> Result<Self> {
        // The thread of `notify` owns the handler. If the system refuses the thread, `notify` reports no error, and drops the handler.
        let in_thread = Arc::new(());
        let has_thread = Arc::downgrade(&in_thread);
        let handler = move |event: notify::Result<notify::Event>| match event {
            Ok(event) if event.need_rescan() => take(Hint::Anywhere),
            // Opening and reading change nothing. If they gave hints, the receiver's own reads would wake it for ever.
            Ok(event) if matches!(event.kind, EventKind::Access(kind) if kind != AccessKind::Close(AccessMode::Write)) => {}
            Ok(event) => event.paths.into_iter().for_each(|path| take(Hint::At(path))),
            Err(_) => take(Hint::Anywhere),
        };
        let handler = move |event| {
            let _owned = &in_thread;
            handler(event);
        };
        let watcher = RecommendedWatcher::new(handler, Config::default()).map_err(|e| failed(&e))?;
        if has_thread.upgrade().is_none() {
            // Each use of a watcher without a thread panics, and so does dropping it.
            std::mem::forget(watcher);
            return Err(std::io::Error::from(Errno::AGAIN)).io("start", "a thread for file events");
        }
        Ok(Self { watcher })
    }

    /// Starts to watch one folder, without its subfolders.
    ///
    /// # Errors
    /// [`Error::Failed`] if the system refuses, for example at its limit of watches.
    pub fn watch(&mut self, folder: &Path) -> Result<()> {
        self.watcher.watch(folder, RecursiveMode::NonRecursive).map_err(|e| failed(&e))
    }

    /// Stops watching a folder.
    pub fn unwatch(&mut self, folder: &Path) {
        // A folder that was missing was never watched, so the error does not matter.
        let _ = self.watcher.unwatch(folder);
    }
}

/// True if the system reports every change in a folder, including changes that other machines make. On a network filesystem it
/// reports only local changes.
pub fn tell_all_changes(folder: &Path) -> bool {
    crate::disk::open_folder(folder).is_ok_and(|folder| crate::platform::files::tells_all_changes(&folder))
}

fn failed(error: &notify::Error) -> Error {
    Error::failed(format!("no file events: {error}"), "use --poll 5s, or raise fs.inotify.max_user_watches and max_user_instances")
}

/// A watch on one or more folders. A thread sleeps in [`wait`](Self::wait) until something changes in one of them.
#[derive(Debug)]
pub struct FolderWatch {
    hints: Hints,
    folders: Vec<PathBuf>,
    changes: Receiver<()>,
    changed: SyncSender<()>,
}

/// Ends the current or the next wait of a [`FolderWatch`], from any thread.
#[derive(Debug, Clone)]
pub struct Waker(SyncSender<()>);

impl Waker {
    /// Ends the current wait, or the next one if no thread is waiting.
    pub fn wake(&self) {
        let _ = self.0.try_send(());
    }
}

/// The longest sleep between two looks if the system has no file events for a folder.
const POLL_EVERY: Duration = Duration::from_millis(500);

impl FolderWatch {
    /// Starts to watch `folder`.
    ///
    /// # Errors
    /// Those of [`Hints::new`] and [`Hints::watch`].
    pub fn new(folder: &Path) -> Result<Self> {
        let (sender, changes) = mpsc::sync_channel(1);
        let changed = sender.clone();
        let mut hints = Hints::new(move |_| {
            let _ = sender.try_send(());
        })?;
        hints.watch(folder)?;
        Ok(Self { hints, folders: vec![folder.to_path_buf()], changes, changed })
    }

    /// Returns a handle that ends a wait without a change.
    pub fn waker(&self) -> Waker {
        Waker(self.changed.clone())
    }

    /// Starts to watch another folder as well.
    ///
    /// # Errors
    /// Those of [`Hints::watch`].
    pub fn add(&mut self, folder: &Path) -> Result<()> {
        self.hints.watch(folder)?;
        self.folders.push(folder.to_path_buf());
        Ok(())
    }

    /// True if this folder is watched.
    pub fn watches(&self, folder: &Path) -> bool {
        self.folders.iter().any(|f| f == folder)
    }

    /// Returns at the first change since the last call, or after `limit`.
    pub fn wait(&self, limit: Duration) {
        self.changed_within(limit);
    }

    /// [`wait`](Self::wait). Without file events, sleeps for half a second at most.
    pub fn wait_or_sleep(watch: Option<&Self>, limit: Duration) {
        match watch {
            Some(watch) => watch.wait(limit),
            None => std::thread::sleep(limit.min(POLL_EVERY)),
        }
    }

    /// [`wait`](Self::wait). Returns true if there was a change.
    pub fn changed_within(&self, limit: Duration) -> bool {
        self.changes.recv_timeout(limit).is_ok()
    }
}
