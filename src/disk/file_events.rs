//! File events of the kernel, as hints: the receiver of a hint reads the folder again. A lost, repeated or late hint costs time,
//! never a question.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io::{PipeReader, PipeWriter};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::io::Errno;

use crate::error::{Error, IoContext, Result};
use crate::thread;

/// Something may have changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hint {
    /// At this path.
    At(PathBuf),
    /// Anywhere: events were lost.
    Anywhere,
}

/// The watched folders, by the numbers that inotify gave them.
type Folders = Arc<Mutex<HashMap<i32, PathBuf>>>;

/// A source of hints; dropping it ends them.
#[derive(Debug)]
pub struct Hints {
    inotify: Arc<OwnedFd>,
    folders: Folders,
    _alive: PipeWriter,
}

impl Hints {
    /// Calls `take` with every hint, on a thread of its own.
    pub fn new(take: impl Fn(Hint) + Send + 'static) -> Result<Self> {
        let inotify = Arc::new(inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).map_err(failed)?);
        let (dropped, alive) = std::io::pipe().io("open", "a pipe")?;
        let folders = Folders::default();
        let (events, known) = (inotify.clone(), folders.clone());
        thread::start(move || take_all(&events, &dropped, &known, take))?;
        Ok(Self { inotify, folders, _alive: alive })
    }

    /// Adds one folder, without what lies below it.
    pub fn watch(&mut self, folder: &Path) -> Result<()> {
        // Opening and reading changes nothing, and the receiver's own reads would wake it for ever.
        let changes = WatchFlags::ATTRIB
            | WatchFlags::CLOSE_WRITE
            | WatchFlags::CREATE
            | WatchFlags::DELETE
            | WatchFlags::DELETE_SELF
            | WatchFlags::MODIFY
            | WatchFlags::MOVED_FROM
            | WatchFlags::MOVED_TO
            | WatchFlags::MOVE_SELF;
        // Locked before the folder has events, so that the thread knows its number then.
        let mut folders = self.folders.lock().unwrap_or_else(PoisonError::into_inner);
        folders.insert(inotify::add_watch(&*self.inotify, folder, changes).map_err(failed)?, folder.to_path_buf());
        Ok(())
    }
}

/// Passes events on until the writing end of `dropped` is closed.
fn take_all(inotify: &OwnedFd, dropped: &PipeReader, folders: &Folders, take: impl Fn(Hint)) {
    let mut buffer = [const { MaybeUninit::uninit() }; 4096];
    loop {
        let mut fds = [PollFd::new(inotify, PollFlags::IN), PollFd::new(dropped, PollFlags::empty())];
        // An error, such as no memory, passes.
        if poll(&mut fds, None).is_err_and(|e| e != Errno::INTR) {
            std::thread::sleep(Duration::from_millis(100));
        }
        if !fds[1].revents().is_empty() {
            return;
        }
        let mut events = Reader::new(inotify, &mut buffer);
        while let Ok(event) = events.next() {
            if event.events().contains(ReadFlags::QUEUE_OVERFLOW) {
                take(Hint::Anywhere);
                continue;
            }
            let mut folders = folders.lock().unwrap_or_else(PoisonError::into_inner);
            let path = folders.get(&event.wd()).map(|folder| match event.file_name() {
                Some(name) => folder.join(OsStr::from_bytes(name.to_bytes())),
                None => folder.clone(),
            });
            if event.events().contains(ReadFlags::IGNORED) {
                folders.remove(&event.wd());
            }
            drop(folders);
            path.into_iter().for_each(|path| take(Hint::At(path)));
        }
    }
}

fn failed(error: Errno) -> Error {
    Error::failed(
        format!("no file events: {}", std::io::Error::from(error)),
        "use --poll 5s, or raise fs.inotify.max_user_watches and max_user_instances",
    )
}

/// Lets a thread sleep until something changes in one of some folders.
#[derive(Debug)]
pub struct FolderWatch {
    hints: Hints,
    folders: Vec<PathBuf>,
    changes: Receiver<()>,
}

impl FolderWatch {
    /// Watches `folder`.
    pub fn new(folder: &Path) -> Result<Self> {
        let (sender, changes) = mpsc::sync_channel(1);
        let mut hints = Hints::new(move |_| {
            let _ = sender.try_send(());
        })?;
        hints.watch(folder)?;
        Ok(Self { hints, folders: vec![folder.to_path_buf()], changes })
    }

    /// Watches this folder as well.
    pub fn add(&mut self, folder: &Path) -> Result<()> {
        self.hints.watch(folder)?;
        self.folders.push(folder.to_path_buf());
        Ok(())
    }

    /// Whether it watches this folder.
    #[must_use]
    pub fn watches(&self, folder: &Path) -> bool {
        self.folders.iter().any(|f| f == folder)
    }

    /// Returns at the next change since the last return, or after `limit`.
    pub fn wait(&self, limit: Duration) {
        let _ = self.changes.recv_timeout(limit);
    }
}
