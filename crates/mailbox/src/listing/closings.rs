//! The rounds that were closed last, of all workflows, found without listing `closed/`, which may hold a million names.
//!
//! `recent/closed` is a [derived file](crate::derived) of the folder `closed/`. It holds the names of the documents that came last, the
//! newest first. A program that moves a document there, or changes one there, does so by [`changing`], which adds the name under the lock
//! `locks/closed`. A program that does not get the lock removes the list and makes its change without it. So the holder writes a list only
//! if its own is still there, and for a state that `closed/` had before that look.
//!
//! A reader that finds no list lists `closed/`. If a mailbox has many closed rounds, it then writes the list. If the folder changes during the
//! reading, it writes a list that is only begun: it has what is closed from then on, and the next reader adds the names from before.

use std::collections::HashSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::derived::{self, Derived, FolderState};
use crate::{Folder, Lock, Mailbox, Result, RoundId, disk};

/// How many names the list has.
pub const KEPT: usize = 256;
/// A mailbox with fewer closed rounds has no list.
pub const MANY: usize = 2 * KEPT;
/// How long to wait for the lock. It is held for microseconds, because a file that comes is synced after that.
const PATIENCE: Duration = Duration::from_millis(50);

/// The list as its file holds it.
#[derive(Debug, Serialize, Deserialize)]
struct Closings {
    /// If nobody has added the names from before yet: the state of `closed/` when the list was begun.
    begun: Option<FolderState>,
    /// The number of documents in `closed/`; or how many came since the list was begun.
    count: usize,
    /// The names of the documents, the newest first.
    names: Vec<String>,
}

impl Derived for Closings {
    type Source = FolderState;
    const LONGEST: u64 = 256 << 10;
}

/// The newer names, then the older ones. Each once, as many as are kept.
fn joined(newer: impl IntoIterator<Item = String>, older: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut seen = HashSet::new();
    newer.into_iter().chain(older).filter(|name| seen.insert(name.clone())).take(KEPT).collect()
}

/// The closed rounds of a mailbox.
#[derive(Debug, Default)]
pub struct Closed {
    /// The number of closed rounds.
    pub count: usize,
    /// Those that were closed or changed last, the newest first.
    pub newest: Vec<RoundId>,
}

fn path(mailbox: &Mailbox) -> PathBuf {
    mailbox.root().join("recent").join("closed")
}

fn state(mailbox: &Mailbox) -> Option<FolderState> {
    FolderState::of(&mailbox.folder(Folder::Closed))
}

fn listed(mailbox: &Mailbox) -> Option<Closings> {
    derived::read_of(&path(mailbox), &state(mailbox)?)
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

/// Makes a change in `closed/`: `round` comes, or its document changes. The caller holds the workflow's lock.
///
/// # Errors
/// Those of the change. The list may fail: then it no longer counts, and is made anew.
pub fn changing<T>(mailbox: &Mailbox, round: &RoundId, change: impl FnOnce() -> Result<T>) -> Result<T> {
    let path = path(mailbox);
    if !disk::exists(&path) {
        return change();
    }
    let lock = lock(mailbox);
    let Some(Closings { begun, count, names }) = lock.as_ref().and_then(|_| listed(mailbox)) else {
        // The lock's holder may be stopped between two steps, so its list cannot be used any more.
        let _ = disk::untouch(&path);
        return change();
    };
    let is_closed = || disk::exists(mailbox.round(Folder::Closed, round));
    let was_closed = is_closed();
    let done = change();
    let (count, names) = (count + usize::from(!was_closed && is_closed()), joined([round.file_name()], names));
    let now = state(mailbox);
    if let Some(now) = now.filter(|_| disk::exists(&path)) {
        derived::write(&path, &now, &Closings { begun, count, names });
    }
    done
}

/// Returns the number of closed rounds, and the `wanted` newest of those that `look` takes. `look` leaves out rounds that do not exist. `None`
/// if only a list of `closed/` can tell.
pub fn newest<T>(mailbox: &Mailbox, wanted: usize, look: impl FnMut(RoundId) -> Option<T>) -> Option<(usize, Vec<T>)> {
    if wanted > KEPT || !disk::exists(path(mailbox)) {
        return None;
    }
    // A list is complete between two changes. A reader that gets no lock may find it behind `closed/`, and then lists that.
    let _lock = lock(mailbox);
    let Closings { names, count, .. } = listed(mailbox).filter(|list| list.begun.is_none())?;
    let newest: Vec<T> = names.iter().filter_map(|name| RoundId::from_file_name(name)).filter_map(look).take(wanted).collect();
    (newest.len() >= wanted).then_some((count, newest))
}

/// A reading of all names in `closed/`, so that the list can be made from it.
#[derive(Debug)]
pub struct Listing {
    /// The state of `closed/`, if no later state can be taken for it.
    state: Option<FolderState>,
    /// The list that was begun before, which has what changes during the reading.
    begun: Option<FolderState>,
}

impl Listing {
    /// Call this before the reading.
    pub fn begin(mailbox: &Mailbox) -> Self {
        let list = disk::exists(path(mailbox)).then(|| lock(mailbox)).flatten().and_then(|_lock| listed(mailbox));
        Self { begun: list.and_then(|list| list.begun), state: state(mailbox).filter(FolderState::is_settled) }
    }

    /// Makes the list, if there are many closed rounds. `closed` has the newest [`KEPT`] of them.
    pub fn end(self, mailbox: &Mailbox, closed: &Closed) {
        if closed.count < MANY {
            return;
        }
        let Some(_lock) = lock(mailbox) else { return };
        let Some(now) = state(mailbox) else { return };
        let older: Vec<String> = closed.newest.iter().map(RoundId::file_name).collect();
        let list = match derived::read_of::<Closings>(&path(mailbox), &now) {
            // Another reader has made it.
            Some(Closings { begun: None, .. }) => return,
            Some(list) if list.begun == self.begun => {
                // What was closed during the reading may be among the names that were read.
                let count = closed.count + list.names.iter().filter(|name| !older.contains(name)).count();
                Closings { begun: None, count, names: joined(list.names, older) }
            }
            _ if self.state == Some(now) => Closings { begun: None, count: closed.count, names: older },
            _ => Closings { begun: Some(now), count: 0, names: Vec::new() },
        };
        derived::write(&path(mailbox), &now, &list);
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

    /// A mailbox with a list of so many rounds. Returns them, the newest first.
    fn with_list(count: usize) -> (tempfile::TempDir, Mailbox, Vec<RoundId>) {
        let (folder, mailbox) = mailbox();
        let rounds: Vec<RoundId> = (0..count).map(round).collect();
        rounds.iter().for_each(|round| put(&mailbox, round));
        let newest: Vec<RoundId> = rounds.into_iter().rev().collect();
        write(&mailbox, &newest);
        (folder, mailbox, newest)
    }

    fn write(mailbox: &Mailbox, newest: &[RoundId]) {
        let names = newest.iter().map(RoundId::file_name).collect();
        derived::write(&path(mailbox), &state(mailbox).unwrap(), &Closings { begun: None, count: newest.len(), names });
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
    fn what_is_closed_through_the_list_is_found_first() {
        let (_folder, mailbox, newest) = with_list(100);
        assert_eq!(newest_of(&mailbox, 3), Some(newest[..3].to_vec()));
        let (one, two) = (close(&mailbox, 1_000), close(&mailbox, 1_001));
        assert_eq!(newest_of(&mailbox, 3), Some(vec![two.clone(), one.clone(), newest[0].clone()]));
        // A late answer changes a round that was closed before.
        changing(&mailbox, &newest[50], || Ok(())).unwrap();
        assert_eq!(newest_of(&mailbox, 2), Some(vec![newest[50].clone(), two]));
        assert_eq!(newest_of(&mailbox, 103), None, "only a list can tell");
    }

    fn newest_of(mailbox: &Mailbox, wanted: usize) -> Option<Vec<RoundId>> {
        let look = |round| disk::exists(mailbox.round(Folder::Closed, &round)).then_some(round);
        Some(newest(mailbox, wanted, look)?.1)
    }

    #[test]
    fn a_change_that_the_list_does_not_have_ends_its_use() {
        let (_folder, mailbox, newest) = with_list(100);
        std::thread::sleep(Duration::from_millis(20));
        put(&mailbox, &round(500));
        assert_eq!(newest_of(&mailbox, 3), None);
        close(&mailbox, 501);
        assert!(!path(&mailbox).exists() && newest_of(&mailbox, 3).is_none());
        // A program died after its change, or in the middle of a list.
        write(&mailbox, &newest);
        assert!(newest_of(&mailbox, 3).is_some());
        let text = std::fs::read_to_string(path(&mailbox)).unwrap();
        for torn in ["", &text[..text.len() / 2]] {
            std::fs::write(path(&mailbox), torn).unwrap();
            assert_eq!(newest_of(&mailbox, 3), None, "{torn:?}");
        }
        write(&mailbox, &newest);
        std::thread::sleep(Duration::from_millis(20));
        put(&mailbox, &round(502));
        assert_eq!(newest_of(&mailbox, 3), None);
    }

    #[test]
    fn a_list_stays_short_and_is_completed_by_a_second_reader() {
        let (_folder, mailbox) = mailbox();
        let oldest = round(MANY);
        let rounds: Vec<RoundId> = (0..MANY).map(round).collect();
        rounds.iter().for_each(|round| put(&mailbox, round));
        let newest: Vec<RoundId> = rounds.into_iter().rev().take(KEPT).collect();
        // The folder changes while it is read, so the first reader only begins a list.
        let first = Listing::begin(&mailbox);
        put(&mailbox, &oldest);
        let read = Closed { count: MANY, newest: newest.clone() };
        first.end(&mailbox, &read);
        assert_eq!(newest_of(&mailbox, 3), None);
        let reading = Listing::begin(&mailbox);
        let closed = close(&mailbox, 9_999);
        reading.end(&mailbox, &read);
        assert_eq!(newest_of(&mailbox, 2), Some(vec![closed, newest[0].clone()]));
        for n in 0..2 * KEPT {
            let closed = close(&mailbox, n);
            // An answer that comes too late changes it once more.
            changing(&mailbox, &closed, || Ok(())).unwrap();
            let Closings { names, count, .. } = listed(&mailbox).unwrap();
            assert!(names.len() <= KEPT && count == MANY + 2 + n, "{} {count}", names.len());
        }
        assert!(newest_of(&mailbox, 3).is_some());
    }

    #[test]
    fn without_the_lock_a_change_is_made_and_the_list_goes() {
        let (_folder, mailbox, _) = with_list(10);
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
    fn a_slow_holder_makes_no_list_that_lacks_a_round() {
        let (_folder, mailbox, _) = with_list(100);
        let (slow, other) = (round(900), round(901));
        // It is stopped while it holds the lock.
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
