//! Until when the user has been notified of new questions: the modification time of `locks/told`. A watcher that starts notifies the
//! user of questions that came after that. The file is not synced: after a power cut, the user may be notified twice.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::disk;
use crate::mailbox::Mailbox;

#[derive(Debug)]
pub(in crate::watch) struct LastNotified {
    path: PathBuf,
    /// The time at the start of this watcher; `None` if no watcher ran before.
    at: Option<SystemTime>,
    /// This watcher has read every question that came until then.
    read: SystemTime,
    marked: SystemTime,
}

impl LastNotified {
    /// A watcher that starts reads every question in `pending/` after this.
    pub(in crate::watch) fn of(mailbox: &Mailbox) -> Self {
        let (path, now) = (mailbox.lock_file("told"), SystemTime::now());
        // A time ahead of the clock was written before the clock was set back: it says nothing.
        let at = disk::metadata(&path).and_then(|m| m.modified()).ok().filter(|at| *at <= now);
        Self { at, path, read: now, marked: SystemTime::UNIX_EPOCH }
    }

    /// Whether a file came after the last notification before this watcher started.
    pub(in crate::watch) fn is_news(&self, path: &Path) -> bool {
        self.at.is_none_or(|at| came(path).is_some_and(|came| came > at))
    }

    /// This question was read, and all that came before it.
    pub(in crate::watch) fn has_read(&mut self, path: &Path) {
        self.read = came(path).unwrap_or(self.read).clamp(self.read, SystemTime::now().max(self.read));
    }

    /// Notes that the user has been notified of every question that was read.
    pub(in crate::watch) fn mark(&mut self) {
        if self.marked != self.read && disk::touch_dated(&self.path, self.read).is_ok() {
            self.marked = self.read;
        }
    }
}

/// The time of the inode change: `mv` keeps the modification time.
fn came(path: &Path) -> Option<SystemTime> {
    let m = disk::metadata(path).ok()?;
    Some(SystemTime::UNIX_EPOCH + Duration::new(u64::try_from(m.ctime()).ok()?, u32::try_from(m.ctime_nsec()).ok()?))
}
