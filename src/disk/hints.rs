//! File events, as hints: whoever gets one looks at the folder again. A lost, doubled or late hint costs time, never a question.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use notify::{Config, EventKind, RecommendedWatcher, RecursiveMode, Watcher};

use crate::error::{Error, Result};

/// Something may have changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hint {
    /// At this path.
    At(PathBuf),
    /// Anywhere: events were lost.
    Anywhere,
}

/// A source of hints; dropping it ends them.
pub struct Hints {
    watcher: RecommendedWatcher,
}

impl std::fmt::Debug for Hints {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Hints")
    }
}

impl Hints {
    /// Hints from the kernel.
    pub fn new(take: impl Fn(Hint) + Send + 'static) -> Result<Self> {
        let handler = move |event: notify::Result<notify::Event>| match event {
            Ok(event) if event.need_rescan() => take(Hint::Anywhere),
            // Opening and reading changes nothing, and our own looks would wake us for ever.
            Ok(event) if matches!(event.kind, EventKind::Access(kind) if kind != notify::event::AccessKind::Close(notify::event::AccessMode::Write)) =>
                {}
            Ok(event) => event.paths.into_iter().for_each(|path| take(Hint::At(path))),
            Err(_) => take(Hint::Anywhere),
        };
        Ok(Self { watcher: RecommendedWatcher::new(handler, Config::default()).map_err(|e| failed(&e))? })
    }

    /// Adds one folder, without what lies below it.
    pub fn watch(&mut self, folder: &Path) -> Result<()> {
        self.watcher.watch(folder, RecursiveMode::NonRecursive).map_err(|e| failed(&e))
    }
}

fn failed(error: &notify::Error) -> Error {
    Error::failed(format!("no file events: {error}"), "use --poll 5s, or raise fs.inotify.max_user_watches")
}

/// Wakes whoever waits for a change in one folder.
#[derive(Debug)]
pub struct Bell {
    hints: Hints,
    folders: Vec<PathBuf>,
    rings: Receiver<()>,
}

impl Bell {
    /// Rings on every change in `folder`.
    pub fn of_folder(folder: &Path) -> Result<Self> {
        let (ring, rings) = mpsc::sync_channel(1);
        let mut hints = Hints::new(move |_| {
            let _ = ring.try_send(());
        })?;
        hints.watch(folder)?;
        Ok(Self { hints, folders: vec![folder.to_path_buf()], rings })
    }

    /// Rings on every change in this folder as well.
    pub fn also(&mut self, folder: &Path) -> Result<()> {
        self.hints.watch(folder)?;
        self.folders.push(folder.to_path_buf());
        Ok(())
    }

    /// Whether it rings for this folder.
    #[must_use]
    pub fn hears(&self, folder: &Path) -> bool {
        self.folders.iter().any(|f| f == folder)
    }

    /// Returns at the next ring, or when the time is over.
    pub fn wait(&self, limit: Duration) {
        let _ = self.rings.recv_timeout(limit);
    }
}
