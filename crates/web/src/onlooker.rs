//! Treats a visible page as a person who sees new questions. For [`LASTS`] after the page's last request, notifications for this person
//! wait, as they do for a person at a terminal inbox. This delays notifications, and never drops them.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use askbox_mailbox::{Mailbox, Result, presence, thread};

/// How long a person counts as present after a request of a visible page.
pub const LASTS: Duration = Duration::from_secs(30);

/// Announces that a person is there.
#[derive(Debug)]
pub struct Onlooker(SyncSender<()>);

impl Onlooker {
    /// Starts with nobody there.
    ///
    /// # Errors
    /// If the system refuses the thread.
    pub fn start(mailbox: Mailbox) -> Result<Self> {
        let (sender, seen) = sync_channel(1);
        thread::start(move || announce(&mailbox, &seen))?;
        Ok(Self(sender))
    }

    /// Notes that a person is there.
    pub fn is_there(&self) {
        // If the channel is full, a message that says the same is already waiting.
        let _ = self.0.try_send(());
    }
}

fn announce(mailbox: &Mailbox, seen: &Receiver<()>) {
    while seen.recv().is_ok() {
        // If this fails, notifications only come sooner.
        let _present = presence::announce_person(mailbox);
        loop {
            match seen.recv_timeout(LASTS) {
                Ok(()) => {}
                Err(RecvTimeoutError::Timeout) => break,
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }
}
