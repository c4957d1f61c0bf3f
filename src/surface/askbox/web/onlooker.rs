//! A page that is visible is a person who sees new questions: for the time of [`LASTS`] after its last request, news wait for this person as
//! they do for one at a terminal inbox. News are delayed by that, never dropped.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use crate::error::Result;
use crate::mailbox::Mailbox;
use crate::mailbox::who::presence;
use crate::thread;

/// How long a person counts as present after a request of a page that is visible.
pub const LASTS: Duration = Duration::from_secs(30);

/// Tells that a person is there.
#[derive(Debug)]
pub struct Onlooker(SyncSender<()>);

impl Onlooker {
    /// Nobody is there yet.
    ///
    /// # Errors
    /// If the system refuses the thread.
    pub fn start(mailbox: Mailbox) -> Result<Self> {
        let (sender, seen) = sync_channel(1);
        thread::start(move || announce(&mailbox, &seen))?;
        Ok(Self(sender))
    }

    /// A person is there.
    pub fn is_there(&self) {
        // One that waits to be taken says the same.
        let _ = self.0.try_send(());
    }
}

fn announce(mailbox: &Mailbox, seen: &Receiver<()>) {
    while seen.recv().is_ok() {
        // Without it, news only come sooner.
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
