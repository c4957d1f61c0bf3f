//! The rounds that were closed last, of all workflows, found without listing `closed/`, which may hold a million names.
//!
//! `recent/closed` is a log of the names that come into `closed/`, the newest at its end. A program that moves a document there, or
//! changes one there, does so by [`changing`]. Under the lock `locks/closed` it writes the name, makes its change, and writes the time
//! of the last change of `closed/`. A program that does not get the lock removes the log and makes its change without it. So the holder
//! may find its log gone, or another change than its own in `closed/`. It writes a new log only with a time that it took before it saw
//! that its log is still there.
//!
//! The log is a hint, and it is checked before it is used: its last line must be the present change time of `closed/`. If a program
//! died between two of these steps, or if another program has changed the folder, as an earlier version of askbox or a pruner does, it
//! is not. Then `closed/` is listed, and the log is made anew from that. Every name is looked up before it counts.
//!
//! ```text
//! newest | begun            the log has the newest rounds; or none of those before it was begun
//! +W.Q.json                 this document comes or changes
//! =SECONDS.NANOSECONDS      the change time of closed/ after that
//! ```
//! The log is not synced. It is made once a mailbox has many closed rounds, and it is shortened when it gets long.

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

use crate::disk::{self, LinesFromEnd, Lock};
use crate::error::Result;
use crate::id::RoundId;
use crate::layout::{Folder, Mailbox};

/// A mailbox with fewer closed rounds has no log.
pub const MANY: usize = 2_000;
/// How many names a new or shortened log has.
pub const KEPT: usize = 1_500;
/// The log is shortened when it has this length, in bytes.
const LONG: u64 = 512 << 10;
/// How long to wait for the lock. It is held for microseconds, because a file that comes is synced after that.
const PATIENCE: Duration = Duration::from_millis(50);
/// The longest line of a change time.
const LONGEST_TIME: u64 = 64;

/// The first line of a log. A log without one of these is not used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Begins {
    /// The log has the newest closed rounds.
    Newest,
    /// The log has the rounds that were closed since it was begun. Somebody still has to add those before.
    Begun,
}

impl Begins {
    fn line(self) -> &'static str {
        match self {
            Self::Newest => "newest\n",
            Self::Begun => "begun\n",
        }
    }
}

fn path(mailbox: &Mailbox) -> PathBuf {
    mailbox.root().join("recent").join("closed")
}

/// The line with the change time of `closed/`.
fn present_time(mailbox: &Mailbox) -> Option<String> {
    let meta = disk::metadata(mailbox.folder(Folder::Closed)).ok()?;
    Some(format!("={}.{:09}\n", meta.ctime(), meta.ctime_nsec()))
}

fn lock(mailbox: &Mailbox) -> Option<Lock> {
    let (path, deadline) = (mailbox.lock_file("closed"), Instant::now() + PATIENCE);
    loop {
        match Lock::try_acquire(&path) {
            Ok(Some(lock)) => return Some(lock),
            Ok(None) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(1)),
            _ => return None,
        }
    }
}

/// An open log whose last line is the present change time.
#[derive(Debug)]
struct Log {
    file: File,
    begins: Begins,
    /// Its last line.
    time: String,
}

impl Log {
    /// The log, if there is one and it is up to date. The caller holds the lock.
    fn open(mailbox: &Mailbox) -> Option<Self> {
        Self::check(mailbox, disk::open_to_read(&path(mailbox)).ok()?)
    }

    /// [`open`](Self::open) to append to it.
    fn open_to_append(mailbox: &Mailbox) -> Option<Self> {
        Self::check(mailbox, disk::open_append(&path(mailbox)).ok()?)
    }

    fn check(mailbox: &Mailbox, mut file: File) -> Option<Self> {
        let mut first = String::new();
        BufReader::new((&mut file).take(LONGEST_TIME)).read_line(&mut first).ok()?;
        let begins = [Begins::Newest, Begins::Begun].into_iter().find(|begins| begins.line() == first)?;
        let length = file.seek(SeekFrom::End(0)).ok()?;
        file.seek(SeekFrom::Start(length.saturating_sub(LONGEST_TIME))).ok()?;
        let mut end = Vec::new();
        (&mut file).take(LONGEST_TIME).read_to_end(&mut end).ok()?;
        let now = present_time(mailbox)?;
        let is_up_to_date = end.strip_suffix(now.as_bytes()).is_some_and(|before| before.last() == Some(&b'\n'));
        is_up_to_date.then_some(Self { file, begins, time: now })
    }

    /// Appends a line. Returns the length of the log.
    fn append(&self, line: &str) -> Option<u64> {
        (&self.file).write_all(line.as_bytes()).ok()?;
        Some(self.file.metadata().ok()?.len())
    }

    /// True if another program has not removed it.
    fn is_in_place(&self, mailbox: &Mailbox) -> bool {
        let ours = self.file.metadata().map(|meta| meta.ino()).ok();
        ours.is_some() && ours == disk::metadata(path(mailbox)).map(|meta| meta.ino()).ok()
    }

    /// The last names that lie in `closed/`, the newest first, each once.
    fn last(self, mailbox: &Mailbox, wanted: usize) -> Option<Vec<RoundId>> {
        let (mut found, mut seen) = (Vec::new(), HashSet::new());
        for line in LinesFromEnd::new(self.file).ok()? {
            if found.len() >= wanted {
                break;
            }
            let line = String::from_utf8(line.ok()?).ok()?;
            if let Some(round) = line.strip_prefix('+').and_then(RoundId::from_file_name)
                && seen.insert(round.clone())
                && disk::exists(mailbox.round(Folder::Closed, &round))
            {
                found.push(round);
            }
        }
        Some(found)
    }
}

/// Makes a change in `closed/`: `round` comes, or its document changes. The caller holds the workflow's lock.
///
/// # Errors
/// Those of the change. The log may fail: then it is outdated, and is made anew.
pub fn changing<T>(mailbox: &Mailbox, round: &RoundId, change: impl FnOnce() -> Result<T>) -> Result<T> {
    let path = path(mailbox);
    if !disk::exists(&path) {
        return change();
    }
    let Some(_lock) = lock(mailbox) else {
        // Its holder may be stopped between two steps, so its log cannot be used any more.
        let _ = disk::untouch(&path);
        return change();
    };
    let Some(log) = Log::open_to_append(mailbox) else {
        let _ = disk::untouch(&path);
        return change();
    };
    let named = log.append(&format!("+{}\n", round.file_name()));
    let done = change();
    let Some((length, now)) = named.zip(present_time(mailbox)).filter(|(_, now)| log.append(now).is_some()) else {
        let _ = disk::untouch(&path);
        return done;
    };
    if length > LONG && log.is_in_place(mailbox) {
        shorten(mailbox, log, &now);
    }
    done
}

/// Shortens a log that is up to date at the time `now`.
fn shorten(mailbox: &Mailbox, log: Log, now: &str) {
    match log.begins {
        // Nobody has completed it in all that time.
        Begins::Begun => drop(disk::untouch(&path(mailbox))),
        Begins::Newest => log.last(mailbox, KEPT).into_iter().for_each(|newest| write(mailbox, Begins::Newest, &newest, now)),
    }
}

/// Writes a log that is up to date at the time `now`. `newest` has the names, the newest first. The caller holds the lock.
fn write(mailbox: &Mailbox, begins: Begins, newest: &[RoundId], now: &str) {
    let names = newest.iter().rev().map(|round| format!("+{}\n", round.file_name()));
    let text: String = std::iter::once(begins.line().to_owned()).chain(names).chain([now.to_owned()]).collect();
    let path = path(mailbox);
    let _ = disk::touch_folder(&mailbox.root().join("recent"));
    let _ = disk::replace_unsynced(&path, text.as_bytes(), SystemTime::now());
}

/// Returns `wanted` rounds: those that were closed or changed last, the newest first. `None` if only a list of `closed/` can tell.
#[must_use]
pub fn newest(mailbox: &Mailbox, wanted: usize) -> Option<Vec<RoundId>> {
    if wanted > KEPT || !disk::exists(path(mailbox)) {
        return None;
    }
    let _lock = lock(mailbox)?;
    let log = Log::open(mailbox).filter(|log| log.begins != Begins::Begun)?;
    log.last(mailbox, wanted).filter(|found| found.len() >= wanted)
}

/// A list of `closed/` that a program is about to read, so that the log can be made from it.
#[derive(Debug)]
pub struct Listing {
    /// The change time of `closed/`, if it lies far enough back: a file system may give two changes the same time.
    time: Option<String>,
    /// The log that was begun before, by its inode. It has what changes during the reading.
    begun: Option<u64>,
}

impl Listing {
    /// Call this before the reading.
    #[must_use]
    pub fn begin(mailbox: &Mailbox) -> Self {
        let begun = disk::exists(path(mailbox)).then(|| lock(mailbox)).flatten().and_then(|_lock| Log::open(mailbox));
        let begun = begun.filter(|log| log.begins == Begins::Begun).and_then(|log| Some(log.file.metadata().ok()?.ino()));
        let changed = || disk::metadata(mailbox.folder(Folder::Closed)).ok()?.ctime().try_into().ok();
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let is_quiet = changed().is_some_and(|changed: u64| changed + 1 < now.as_secs());
        Self { time: present_time(mailbox).filter(|_| is_quiet), begun }
    }

    /// Makes the log, if there are many closed rounds. `newest` are the newest of them, up to [`KEPT`], and `count` says how many there
    /// are. If the folder changed during the reading, a log is begun, and the next reader completes it.
    pub fn end(self, mailbox: &Mailbox, newest: &[RoundId], count: usize) {
        if count < MANY {
            return;
        }
        let Some(_lock) = lock(mailbox) else { return };
        let log = Log::open(mailbox);
        match (log, self.begun) {
            // Another reader has made it.
            (Some(log), _) if log.begins != Begins::Begun => {}
            (Some(log), Some(begun)) if log.file.metadata().is_ok_and(|meta| meta.ino() == begun) => {
                let time = log.time.clone();
                let Some(since) = log.last(mailbox, KEPT) else { return };
                let known: HashSet<&RoundId> = since.iter().collect();
                let all: Vec<RoundId> = since.iter().chain(newest.iter().filter(|round| !known.contains(round))).cloned().collect();
                write(mailbox, Begins::Newest, &all, &time);
            }
            _ => match (self.time, present_time(mailbox)) {
                (Some(before), Some(now)) if before == now => write(mailbox, Begins::Newest, newest, &now),
                (_, Some(now)) => write(mailbox, Begins::Begun, &[], &now),
                (_, None) => {}
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::QuestionId;

    fn mailbox() -> (tempfile::TempDir, Mailbox) {
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let mailbox = Mailbox::open_or_create(folder.path().join("m")).unwrap();
        (folder, mailbox)
    }

    fn round(n: usize) -> RoundId {
        RoundId { workflow: format!("w{n}").parse().unwrap(), question: QuestionId::generate() }
    }

    fn put(mailbox: &Mailbox, round: &RoundId) {
        std::fs::write(mailbox.round(Folder::Closed, round), "{}").unwrap();
    }

    /// A mailbox with a log of so many rounds. Returns them, the newest first.
    fn with_log(count: usize) -> (tempfile::TempDir, Mailbox, Vec<RoundId>) {
        let (folder, mailbox) = mailbox();
        let rounds: Vec<RoundId> = (0..count).map(round).collect();
        rounds.iter().for_each(|round| put(&mailbox, round));
        let newest: Vec<RoundId> = rounds.into_iter().rev().collect();
        let _lock = lock(&mailbox).unwrap();
        write(&mailbox, Begins::Newest, &newest, &present_time(&mailbox).unwrap());
        (folder, mailbox, newest)
    }

    fn close(mailbox: &Mailbox, n: usize) -> RoundId {
        let closed = round(n);
        changing(mailbox, &closed, || {
            put(mailbox, &closed);
            Ok(())
        })
        .unwrap();
        closed
    }

    #[test]
    fn what_is_closed_through_the_log_is_found_first() {
        let (_folder, mailbox, newest) = with_log(100);
        assert_eq!(newest_of(&mailbox, 3), Some(newest[..3].to_vec()));
        let (one, two) = (close(&mailbox, 1_000), close(&mailbox, 1_001));
        assert_eq!(newest_of(&mailbox, 3), Some(vec![two.clone(), one.clone(), newest[0].clone()]));
        // A late answer changes a round that was closed before.
        changing(&mailbox, &newest[50], || Ok(())).unwrap();
        assert_eq!(newest_of(&mailbox, 2), Some(vec![newest[50].clone(), two]));
        assert_eq!(newest_of(&mailbox, 103), None, "only a list can tell");
    }

    fn newest_of(mailbox: &Mailbox, wanted: usize) -> Option<Vec<RoundId>> {
        newest(mailbox, wanted)
    }

    #[test]
    fn a_change_that_the_log_does_not_have_ends_its_use() {
        let (_folder, mailbox, newest) = with_log(100);
        std::thread::sleep(Duration::from_millis(20));
        put(&mailbox, &round(500));
        assert_eq!(newest_of(&mailbox, 3), None);
        close(&mailbox, 501);
        assert!(!path(&mailbox).exists() && newest_of(&mailbox, 3).is_none());
        // A program died between its steps.
        for last in ["+w1.json\n", "=1.0", ""] {
            let _lock = lock(&mailbox).unwrap();
            write(&mailbox, Begins::Newest, &newest, &present_time(&mailbox).unwrap());
            drop(_lock);
            assert!(newest_of(&mailbox, 3).is_some());
            let text = std::fs::read_to_string(path(&mailbox)).unwrap();
            let whole = if last.is_empty() { String::new() } else { text + last };
            std::fs::write(path(&mailbox), whole).unwrap();
            assert_eq!(newest_of(&mailbox, 3), None, "{last:?}");
        }
    }

    #[test]
    fn a_log_stays_short_and_is_completed_by_a_second_reader() {
        let (_folder, mailbox) = mailbox();
        let oldest = round(MANY);
        let rounds: Vec<RoundId> = (0..MANY).map(round).collect();
        rounds.iter().for_each(|round| put(&mailbox, round));
        let newest: Vec<RoundId> = rounds.into_iter().rev().take(KEPT).collect();
        // The folder changes while it is read, so the first reader only begins a log.
        let first = Listing::begin(&mailbox);
        put(&mailbox, &oldest);
        first.end(&mailbox, &newest, MANY);
        assert_eq!(newest_of(&mailbox, 3), None);
        let reading = Listing::begin(&mailbox);
        let closed = close(&mailbox, 9_999);
        reading.end(&mailbox, &newest, MANY);
        assert_eq!(newest_of(&mailbox, 2), Some(vec![closed, newest[0].clone()]));
        let longest = (0..12_000).map(|_| {
            changing(&mailbox, &newest[0], || Ok(())).unwrap();
            std::fs::metadata(path(&mailbox)).unwrap().len()
        });
        assert!(longest.max().unwrap() < LONG + 1_000);
        assert!(newest_of(&mailbox, 3).is_some());
    }

    #[test]
    fn without_the_lock_a_change_is_made_and_the_log_goes() {
        let (_folder, mailbox, _) = with_log(10);
        let _held = lock(&mailbox).unwrap();
        close(&mailbox, 100);
        assert!(!path(&mailbox).exists());
    }

    /// What a program does that did not get the lock.
    fn close_without_the_lock(mailbox: &Mailbox, closed: &RoundId) {
        disk::untouch(&path(mailbox)).unwrap();
        put(mailbox, closed);
    }

    #[test]
    fn a_slow_holder_makes_no_log_that_lacks_a_round() {
        let (_folder, mailbox, newest) = with_log(100);
        let length = || std::fs::metadata(path(&mailbox)).unwrap().len();
        while length() + 200 < LONG {
            changing(&mailbox, &newest[0], || Ok(())).unwrap();
        }
        let (slow, other) = (round(900), round(901));
        // It is stopped while it holds the lock of a log that is to be shortened.
        let file = disk::open_append(&path(&mailbox)).unwrap();
        (&file).write_all(&vec![b'\n'; 400]).unwrap();
        (&file).write_all(present_time(&mailbox).unwrap().as_bytes()).unwrap();
        changing(&mailbox, &slow, || {
            close_without_the_lock(&mailbox, &other);
            put(&mailbox, &slow);
            Ok(())
        })
        .unwrap();
        assert_eq!(newest_of(&mailbox, 3), None);
        assert!(!path(&mailbox).exists());
    }
}
