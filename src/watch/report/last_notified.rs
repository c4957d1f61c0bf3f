//! When the user was last notified of new questions: the modification time of `locks/told`. A watcher that starts notifies the user of
//! questions that were posted since then. The file is not synced: after a power cut, the user may be notified twice.

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
}

impl LastNotified {
    pub(in crate::watch) fn of(mailbox: &Mailbox) -> Self {
        let path = mailbox.lock_file("told");
        Self { at: disk::metadata(&path).and_then(|m| m.modified()).ok(), path }
    }

    /// Whether a file came after the last notification before this watcher started.
    pub(in crate::watch) fn is_news(&self, path: &Path) -> bool {
        let Some(at) = self.at else { return true };
        // The time of the inode change: `mv` keeps the modification time.
        let changed = disk::metadata(path).ok().and_then(|m| {
            Some(SystemTime::UNIX_EPOCH + Duration::new(u64::try_from(m.ctime()).ok()?, u32::try_from(m.ctime_nsec()).ok()?))
        });
        changed.is_some_and(|changed| changed > at)
    }

    /// Notes that the user has been notified of every question in `pending/`.
    pub(in crate::watch) fn mark(&self) {
        let _ = disk::touch_now(&self.path);
    }
}
