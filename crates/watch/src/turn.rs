//! Which of a mailbox's watchers reacts. The first one does, at once. The second one stands in for it: it reacts a little later, when there is
//! usually nothing left to do. The others sleep until one of these two ends. Otherwise fifty watchers would read each new file, and take
//! each other's locks for it.
//!
//! Nothing depends on it but time: a claim is one rename, whoever makes it, and every watcher looks at everything once a minute.

use std::sync::mpsc::Sender;

use crate::messages::WatchMessage;
use askbox_mailbox::disk::Lock;
use askbox_mailbox::{Mailbox, thread};
use askbox_run::log;

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
