//! The questions that a watcher has noted in its log and in the audit trail: the file `locks/told`. A watcher that starts notes the
//! others.
//!
//! Every question that came before the file's modification time was noted, except for the last moments. On a coarse clock, two files
//! may come at the same time, and the one that came first may be read last. So the file names the questions of the last moments, and of
//! these only the named ones were noted. The file is not synced, so after a power cut a question may be noted twice.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use askbox_mailbox::{Mailbox, disk};

/// The length of the last moments: a question that came less than this before the modification time may not have been noted.
const LAST_MOMENTS: Duration = Duration::from_secs(1);
/// The most questions that the file names.
const NAMED: usize = 4096;
/// The longest file that is read, in bytes. A file name has 255 bytes at most.
const LONGEST: u64 = NAMED as u64 * 300;

/// A question's file: its arrival, in nanoseconds since 1970, and its name.
type Arrival = (u128, String);

pub(crate) struct LastSeen {
    path: PathBuf,
    /// The questions that an earlier watcher has noted; `None` if no watcher ran before.
    before: Option<Noted>,
    /// This watcher has read every question that came before this time.
    read: SystemTime,
    /// The questions of the last moments that this watcher has read.
    last: BTreeSet<Arrival>,
    is_marked: bool,
}

#[derive(Debug)]
struct Noted {
    /// Each question that came before this was noted, in nanoseconds since 1970.
    all_before: u128,
    /// The later questions that were noted as well.
    named: BTreeSet<Arrival>,
}

impl LastSeen {
    /// For a watcher that starts, and reads every question in `pending/` after this.
    pub(crate) fn of_mailbox(mailbox: &Mailbox) -> Self {
        let (path, now) = (mailbox.lock_file("told"), SystemTime::now());
        // A time ahead of the clock was written before the clock was set back, so it is ignored.
        let at = disk::metadata(&path).and_then(|m| m.modified()).ok().filter(|at| *at <= now);
        let before = at.map(|at| Noted::read(&path, at));
        let last = before.iter().flat_map(|noted| noted.named.clone()).collect();
        Self { path, before, read: now, last, is_marked: false }
    }

    /// True if no earlier watcher has noted the question.
    pub(crate) fn is_news(&self, path: &Path) -> bool {
        let Some(noted) = &self.before else { return true };
        arrival(path).is_some_and(|arrival| arrival.0 >= noted.all_before && !noted.named.contains(&arrival))
    }

    /// Notes that this question was read, and all that came before it.
    pub(crate) fn has_read(&mut self, path: &Path) {
        let Some(arrival) = arrival(path) else { return };
        let came = SystemTime::UNIX_EPOCH + Duration::from_nanos(u64::try_from(arrival.0).unwrap_or_default());
        self.read = came.clamp(self.read, SystemTime::now().max(self.read));
        self.last.insert(arrival);
        self.is_marked = false;
    }

    /// Records that every question that was read has been noted.
    pub(crate) fn mark(&mut self) {
        if self.is_marked {
            return;
        }
        let moments_ago = nanoseconds(self.read).saturating_sub(LAST_MOMENTS.as_nanos());
        self.last.retain(|(came, _)| *came >= moments_ago);
        while self.last.len() > NAMED {
            self.last.pop_first();
        }
        let names: String = self.last.iter().map(|(came, name)| format!("{came} {name}\n")).collect();
        self.is_marked = disk::replace_unsynced(&self.path, names.as_bytes(), self.read).is_ok();
    }
}

impl Noted {
    fn read(path: &Path, at: SystemTime) -> Self {
        let content = disk::read(path, LONGEST).unwrap_or_default();
        let line = |line: &str| line.split_once(' ').and_then(|(came, name)| Some((came.parse().ok()?, name.to_owned())));
        let named: BTreeSet<Arrival> = String::from_utf8_lossy(&content).lines().filter_map(line).collect();
        let moments_ago = nanoseconds(at).saturating_sub(LAST_MOMENTS.as_nanos());
        // If there are so many questions, the older ones of the last moments are not named.
        let oldest = named.first().filter(|_| named.len() >= NAMED).map_or(0, |(came, _)| *came);
        Self { all_before: moments_ago.max(oldest), named }
    }
}

/// The arrival of a file, by the time of the inode change, because `mv` keeps the modification time.
fn arrival(path: &Path) -> Option<Arrival> {
    let m = disk::metadata(path).ok()?;
    let came = Duration::new(u64::try_from(m.ctime()).ok()?, u32::try_from(m.ctime_nsec()).ok()?);
    Some((came.as_nanos(), path.file_name().and_then(OsStr::to_str)?.to_owned()))
}

fn nanoseconds(time: SystemTime) -> u128 {
    time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos()
}

#[cfg(test)]
mod tests {
    use super::*;
    use askbox_mailbox::Mailbox;

    fn arrivals(folder: &Path, names: &[&str]) -> Vec<PathBuf> {
        names.iter().map(|name| folder.join(format!("{name}.json"))).inspect(|path| std::fs::write(path, "{}").unwrap()).collect()
    }

    /// Writes the files until a busy machine gives all of them nearly the same time.
    fn at_once(write: impl Fn() -> Vec<PathBuf>) -> Vec<PathBuf> {
        loop {
            let files = write();
            let (first, last) = (arrival(&files[0]).unwrap().0, arrival(&files[files.len() - 1]).unwrap().0);
            if last - first < LAST_MOMENTS.as_nanos() / 2 {
                return files;
            }
        }
    }

    #[test]
    fn a_question_is_news_beside_another_noted_at_the_same_moment() {
        let folder = tempfile::tempdir().unwrap();
        let mailbox = Mailbox::open_or_create(folder.path().join("m")).unwrap();
        let mut first = LastSeen::of_mailbox(&mailbox);
        // On most machines the kernel gives these the same time.
        let files = at_once(|| arrivals(folder.path(), &["a", "b", "c"]));
        assert!(files.iter().all(|path| first.is_news(path)), "no watcher ran before");
        first.has_read(&files[1]);
        first.mark();
        let second = LastSeen::of_mailbox(&mailbox);
        assert_eq!(files.iter().map(|path| second.is_news(path)).collect::<Vec<_>>(), [true, false, true]);
    }

    #[test]
    fn what_was_noted_outlives_watchers_that_noted_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let mailbox = Mailbox::open_or_create(folder.path().join("m")).unwrap();
        let files = arrivals(folder.path(), &["a"]);
        let mut first = LastSeen::of_mailbox(&mailbox);
        first.has_read(&files[0]);
        first.mark();
        for _ in 0..3 {
            let mut next = LastSeen::of_mailbox(&mailbox);
            assert!(!next.is_news(&files[0]));
            next.mark();
        }
    }
}
