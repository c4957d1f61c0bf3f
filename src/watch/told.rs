//! Until when the human was told of new questions: the time of `locks/told`. A watcher that starts tells of what was posted
//! since then, while nobody watched. Not synced: after a power cut somebody may be told twice.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::disk;
use crate::mailbox::Mailbox;

#[derive(Debug)]
pub(super) struct Told {
    path: PathBuf,
    until: Option<SystemTime>,
}

impl Told {
    pub(super) fn of(mailbox: &Mailbox) -> Self {
        let path = mailbox.lock_file("told");
        Self { until: path.metadata().and_then(|m| m.modified()).ok(), path }
    }

    /// Whether a file has come since the last watcher; all of them where there was none.
    pub(super) fn is_news(&self, path: &Path) -> bool {
        let Some(until) = self.until else { return true };
        // The time of change: `mv` keeps the other one.
        let changed = path.symlink_metadata().ok().and_then(|m| {
            Some(SystemTime::UNIX_EPOCH + Duration::new(u64::try_from(m.ctime()).ok()?, u32::try_from(m.ctime_nsec()).ok()?))
        });
        changed.is_some_and(|changed| changed > until)
    }

    /// Everything that lies there now has been told.
    pub(super) fn mark(&self) {
        let _ = disk::touch_now(&self.path);
    }
}
