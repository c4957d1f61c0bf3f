//! Whether the event has come that a question waits for: see [`Until`].
//!
//! # Security
//! The path comes from a question and may lead anywhere. The system is asked whether it leads to something, and nothing is opened: a FIFO
//! or a device is never touched, no content is read, and links that lead in a circle lead to nothing. A filesystem that does not answer
//! holds up whoever asks, so it is asked in a thread of its own.

use std::sync::mpsc;
use std::time::Duration;

use crate::mailbox::documents::fields::until::Until;
use crate::thread;
use crate::time::{self, Time};

/// A look that takes longer has met a filesystem that does not answer.
pub const SLOW: Duration = Duration::from_secs(5);

/// Whether it has come. May not return for as long as the filesystem does not answer.
#[must_use]
pub fn has_come(until: &Until, now: Time) -> bool {
    match until {
        Until::File(path) => std::fs::metadata(path).is_ok(),
        Until::At(at) => *at <= now,
    }
}

/// [`has_come`]; `None` if that cannot be told in [`SLOW`].
#[must_use]
pub fn has_come_if_told(until: &Until) -> Option<bool> {
    if let Until::At(_) = until {
        return Some(has_come(until, time::now()));
    }
    let (until, (sender, told)) = (until.clone(), mpsc::channel());
    let look = move || {
        // Nobody takes it any more if it comes too late.
        let _ = sender.send(has_come(&until, time::now()));
    };
    thread::start(look).ok()?;
    told.recv_timeout(SLOW).ok()
}
