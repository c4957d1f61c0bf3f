//! Finds out whether a watcher watches the mailbox, and whether a person sits at an inbox. All watchers share one `flock`, and all
//! inboxes share another one. The system releases a process's share when the process ends.
//!
//! A person may also type at the terminal of a live session. The hook beside an open dialog of the session writes down when: it is the time
//! of `looked/SESSION.typed`.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::{Lock, Mailbox, Result, SessionId, disk, wake};

/// The end of the name of the file whose time says when a person last typed at a session's terminal.
pub const TYPED: &str = ".typed";

/// How long a person counts as present at a session's terminal after a key. The system notes the time of a key in steps of eight seconds.
pub const AFTER_A_KEY: Duration = Duration::from_secs(60);

/// A mark that a watcher or a person is present. It lasts until this is dropped.
#[derive(Debug)]
#[must_use = "the watcher or person counts as gone when this is dropped"]
pub struct Presence {
    _lock: Lock,
}

/// Announces a watcher.
///
/// # Errors
/// [`Error::Held`](crate::error::Error::Held) if another process keeps the lock to itself. [`Error::Io`](crate::error::Error::Io)
/// if the system refuses.
pub fn announce(mailbox: &Mailbox) -> Result<Presence> {
    hold(&mailbox.lock_file("watchers"))
}

/// Announces a person who sees new questions as they come.
///
/// # Errors
/// Those of [`announce`].
pub fn announce_person(mailbox: &Mailbox) -> Result<Presence> {
    hold(&mailbox.lock_file("people"))
}

/// True if a watcher is present. Changes nothing.
///
/// # Errors
/// [`Error::Io`](crate::error::Error::Io) if the system refuses.
pub fn anybody(mailbox: &Mailbox) -> Result<bool> {
    is_held(&mailbox.lock_file("watchers"))
}

/// True if a person is present. False if that cannot be found out. Changes nothing.
pub fn any_person(mailbox: &Mailbox) -> bool {
    is_held(&mailbox.lock_file("people")).unwrap_or(false)
}

/// Notes that a person typed at the terminal of this session at this time.
///
/// # Errors
/// [`Error::Io`](crate::error::Error::Io) if the system refuses.
pub fn note_typing(mailbox: &Mailbox, session: &SessionId, at: SystemTime) -> Result<()> {
    disk::create_folder_in(&wake::folder(mailbox))?;
    disk::replace_unsynced(&typed(mailbox, session), b"", at)
}

/// True if a person has typed at the terminal of this session within [`AFTER_A_KEY`]. False if that cannot be found out. Changes nothing.
pub fn is_at_terminal(mailbox: &Mailbox, session: &SessionId) -> bool {
    let typed_at = disk::metadata(typed(mailbox, session)).and_then(|about| about.modified()).ok();
    typed_at.and_then(|at| at.elapsed().ok()).is_some_and(|ago| ago < AFTER_A_KEY)
}

fn typed(mailbox: &Mailbox, session: &SessionId) -> PathBuf {
    wake::folder(mailbox).join(format!("{session}{TYPED}"))
}

fn hold(path: &Path) -> Result<Presence> {
    // Waits only while another process checks the lock, which takes microseconds.
    Ok(Presence { _lock: Lock::acquire_shared(path)? })
}

fn is_held(path: &Path) -> Result<bool> {
    // Several tries are needed, because another process may hold the lock only to check it.
    for _ in 0..3 {
        if !Lock::is_held_or_shared(path)? {
            return Ok(false);
        }
        std::thread::sleep(Duration::from_millis(3));
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_watcher_is_there_until_it_is_dropped_and_many_may_be() {
        let folder = tempfile::tempdir().unwrap();
        let mailbox = Mailbox::open_or_create(folder.path().join("m")).unwrap();
        assert!(!anybody(&mailbox).unwrap());
        let (one, two) = (announce(&mailbox).unwrap(), announce(&mailbox).unwrap());
        drop(one);
        assert!(anybody(&mailbox).unwrap());
        drop(two);
        assert!(!anybody(&mailbox).unwrap());
    }
}
