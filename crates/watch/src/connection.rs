//! A watcher's connection to its mailbox: the file events, the mark that the service runs, and the mailbox's identity. The mailbox may
//! not exist yet, or it was moved, is unmounted, or cannot be trusted.
//!
//! Which of a mailbox's watchers reacts. The first one does, at once. The second one stands in for it: it reacts a little later, when there is
//! usually nothing left to do. The others sleep until one of these two ends. Otherwise fifty watchers would read each new file, and take
//! each other's locks for it.
//!
//! Nothing depends on it but time: a claim is one rename, whoever makes it, and every watcher looks at everything once a minute.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use crate::messages::{Left, Options, WatchMessage};
use askbox_mailbox::who::presence::Presence;
use askbox_mailbox::{Error, Folder, Hint, Hints, Lock, Mailbox, Result, disk, presence, prompts, thread};
use askbox_run::log;

/// A watcher's connection to its mailbox. It ends when it is dropped.
pub(super) struct Connection {
    identity: Identity,
    /// `None` for a watcher that polls, or that sleeps until it is its turn.
    hints: Option<Hints>,
    pub(super) polls: bool,
    /// Only the service announces itself.
    _presence: Option<Presence>,
    turn: Turn,
    sender: Sender<WatchMessage>,
}

impl Connection {
    /// Opens the connection. Every answer that comes after this returns is seen, by this watcher or by an earlier one.
    pub(super) fn open(mailbox: &Mailbox, options: &Options, sender: &Sender<WatchMessage>) -> Result<Self> {
        let (polls, is_service) = (options.poll.is_some(), options.scope.is_service());
        let turn = if is_service && !polls { Turn::take(mailbox) } else { Turn::Alone };
        let hints = if polls || turn.is_later() { None } else { Some(watch_folders(mailbox, sender.clone())?) };
        let presence = is_service.then(|| presence::announce(mailbox)).transpose()?;
        let gone = || Error::failed("the mailbox vanished", "start the watcher again");
        let identity = identity(mailbox.root()).ok_or_else(gone)?;
        if turn.is_later() {
            Turn::wait(mailbox, sender.clone());
        }
        Ok(Self { identity, hints, polls, _presence: presence, turn, sender: sender.clone() })
    }

    /// True if this watcher reacts at once: see [`Turn`].
    pub(super) fn is_first(&mut self, mailbox: &Mailbox) -> bool {
        self.turn.is_first(mailbox)
    }

    /// True if this watcher sleeps until another one ends.
    pub(super) fn is_later(&self) -> bool {
        self.turn.is_later()
    }

    /// Makes this watcher the second one. Returns true if it reacts to file events from now on, so that it has to look at everything.
    pub(super) fn is_second_now(&mut self, mailbox: &Mailbox, lock: Lock) -> bool {
        // The lock may be that of a mailbox that this watcher has left.
        if !self.turn.is_later() || lock.path() != mailbox.lock_file("second") || !lock.is_named() {
            return false;
        }
        match watch_folders(mailbox, self.sender.clone()) {
            Ok(hints) => {
                (self.hints, self.turn) = (Some(hints), Turn::Second(lock));
                true
            }
            Err(e) => {
                // The next one gets the lock. This one still looks at everything once a minute.
                log::error(&e);
                false
            }
        }
    }

    /// Watches the folder of prompts, which may be new.
    pub(super) fn watch_prompts(&mut self, mailbox: &Mailbox) {
        let _ = self.hints.as_mut().map(|hints| hints.watch(&prompts::folder(mailbox)));
    }

    /// Returns the reason to leave the mailbox, if there is one.
    pub(super) fn broken(&self, mailbox: &Mailbox) -> Option<Left> {
        if identity(mailbox.root()).as_ref() != Some(&self.identity) {
            return Some(Left::MailboxGone);
        }
        // If others may write to a folder, anybody could have given the answers in it.
        let folders = WATCHED.iter().map(|folder| mailbox.folder(*folder));
        let is_trusted = std::iter::once(mailbox.root().to_path_buf()).chain(folders).all(|path| disk::check_folder(&path).is_ok());
        (!is_trusted).then_some(Left::NotTrusted)
    }
}

/// Sends a message for every file event in the mailbox that matters to a watcher.
fn watch_folders(mailbox: &Mailbox, sender: Sender<WatchMessage>) -> Result<Hints> {
    let root = mailbox.root().to_path_buf();
    let mut hints = Hints::new(move |hint| {
        if !is_noise(&root, &hint) {
            let _ = sender.send(WatchMessage::Hint(hint));
        }
    })?;
    for folder in WATCHED {
        hints.watch(&mailbox.folder(folder))?;
    }
    // It may be missing: then the mailbox tells of it.
    let _ = hints.watch(&prompts::folder(mailbox));
    // Reports the removal or renaming of the mailbox itself. Watching the folder above would also report everything else there.
    let _ = hints.watch(mailbox.root());
    Ok(hints)
}

/// The longest time between two looks for a missing mailbox, because mounting and unmounting send no file events.
const RECHECK_EVERY: Duration = Duration::from_secs(30);

/// The folders whose file events a watcher needs.
const WATCHED: [Folder; 6] = [Folder::Pending, Folder::Answered, Folder::Running, Folder::Parked, Folder::Timers, Folder::Awaits];

/// Device and inode of the mailbox and of each watched folder.
type Identity = Vec<(u64, u64)>;

/// The mailbox's identity; `None` if a folder is missing. If it changes, another folder has taken the name, and the events of the old
/// folder say nothing about the new one.
pub(super) fn identity(root: &Path) -> Option<Identity> {
    let folders = WATCHED.iter().map(|f| root.join(f.name()));
    let one = |path: &Path| std::fs::symlink_metadata(path).ok().map(|m| (m.dev(), m.ino()));
    std::iter::once(root.to_path_buf()).chain(folders).map(|path| one(&path)).collect()
}

/// True if a hint is about a file beside the watched folders, such as a new line of `audit.jsonl`.
fn is_noise(root: &Path, hint: &Hint) -> bool {
    let Hint::At(path) = hint else { return false };
    path.parent() == Some(root) && !path.ends_with("prompts") && !WATCHED.iter().any(|f| path.ends_with(f.name()))
}

/// Waits until the mailbox exists and can be trusted. `waiting` is called when the wait begins. Returns `None` if a message says stop
/// first. The watcher never creates the mailbox folder itself: while the real one is not mounted, that would create a second mailbox
/// below the mount point.
pub fn wait_for_mailbox(
    root: &Path,
    options: &Options,
    messages: &Receiver<WatchMessage>,
    sender: &Sender<WatchMessage>,
    mut waiting: impl FnMut(),
) -> Result<Option<Mailbox>> {
    // The last reason that was logged. A person may have to be told several reasons in turn.
    let mut logged = String::new();
    loop {
        let to = sender.clone();
        let from_events = || Hints::new(move |hint| drop(to.send(WatchMessage::Hint(hint))));
        let mut hints = if options.poll.is_none() { from_events().ok() } else { None };
        // Watch the nearest existing folder above the mailbox, because every missing folder is created below it. Watch an empty folder
        // at the mailbox's own place too.
        if let (Some(hints), Some(above)) = (&mut hints, root.ancestors().skip(1).find(|p| p.is_dir())) {
            let _ = hints.watch(above);
            let _ = hints.watch(root);
        }
        let error = match Mailbox::open(root) {
            Ok(mailbox) => {
                if let Some(said) = mailbox.tightened() {
                    tracing::warn!("{said}");
                }
                mailbox.complete()?;
                mailbox.make_durable()?;
                return Ok(Some(mailbox));
            }
            Err(e @ Error::Usage { .. }) => return Err(e),
            Err(e) => e,
        };
        if logged.is_empty() {
            waiting();
        }
        let said = error.to_string();
        if logged != said {
            match &error {
                Error::NotFound { .. } => tracing::info!("waiting for the mailbox {}", root.display()),
                _ => log::error(&Error::failed(format!("waiting for a usable mailbox: {said}"), error.hint())),
            }
            logged = said;
        }
        match messages.recv_timeout(options.poll.unwrap_or(RECHECK_EVERY)) {
            Ok(WatchMessage::Stop) | Err(RecvTimeoutError::Disconnected) => return Ok(None),
            Ok(_) | Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

/// The place of a watcher among those of its mailbox.
#[derive(Debug)]
pub enum Turn {
    /// This watcher polls, or serves one tree while no other watcher runs. It reacts at once.
    Alone,
    /// Holds `locks/first`.
    First(Lock),
    /// Holds `locks/second`.
    Second(Lock),
    /// Waits for `locks/second`.
    Later,
}

impl Turn {
    /// Takes the first free place.
    pub fn take(mailbox: &Mailbox) -> Self {
        let of = |name: &str| Lock::try_acquire(&mailbox.lock_file(name));
        match (of("first"), || of("second")) {
            (Ok(Some(first)), _) => Self::First(first),
            (Ok(None), second) => match second() {
                Ok(Some(second)) => Self::Second(second),
                Ok(None) => Self::Later,
                Err(_) => Self::Alone,
            },
            // Without locks there is no order.
            (Err(_), _) => Self::Alone,
        }
    }

    /// True if this watcher reacts at once. The second one becomes the first if that one has ended.
    pub fn is_first(&mut self, mailbox: &Mailbox) -> bool {
        match self {
            Self::Alone | Self::First(_) => true,
            Self::Later => false,
            Self::Second(_) => match Lock::try_acquire(&mailbox.lock_file("first")) {
                Ok(Some(first)) => {
                    *self = Self::First(first);
                    true
                }
                Ok(None) => false,
                Err(_) => true,
            },
        }
    }

    /// True if this watcher sleeps until another one ends.
    pub fn is_later(&self) -> bool {
        matches!(self, Self::Later)
    }

    /// Sends [`WatchMessage::Second`] once this watcher is the second. If the system refuses that, the watcher still looks at everything once
    /// a minute.
    pub fn wait(mailbox: &Mailbox, sender: Sender<WatchMessage>) {
        let path = mailbox.lock_file("second");
        let started = thread::start(move || match Lock::acquire_blocking(&path) {
            // If the watcher has left the mailbox, nobody takes the message, and the lock is free for the next one.
            Ok(second) => drop(sender.send(WatchMessage::Second(second))),
            Err(e) => log::error(&e),
        });
        log::ok(started);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn two_react_and_the_next_one_follows_when_either_ends() {
        let folder = tempfile::tempdir().unwrap();
        let mailbox = Mailbox::open_or_create(folder.path().join("m")).unwrap();
        let [first, mut second, third] = [(); 3].map(|()| Turn::take(&mailbox));
        assert!(matches!((&first, &second, &third), (Turn::First(_), Turn::Second(_), Turn::Later)), "{first:?} {second:?} {third:?}");
        assert!(!second.is_first(&mailbox) && third.is_later());
        let (sender, messages) = std::sync::mpsc::channel();
        Turn::wait(&mailbox, sender);
        assert!(messages.recv_timeout(Duration::from_millis(50)).is_err(), "both are there");
        drop(first);
        // Another test may start a process, which inherits the lock for a moment.
        let end = std::time::Instant::now() + Duration::from_secs(20);
        while !second.is_first(&mailbox) && std::time::Instant::now() < end {
            std::thread::yield_now();
        }
        assert!(matches!(second, Turn::First(_)));
        assert!(matches!(messages.recv_timeout(Duration::from_secs(20)), Ok(WatchMessage::Second(_))));
    }
}
