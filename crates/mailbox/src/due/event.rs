//! Finds out whether the event of a question has come: see [`Until`].
//!
//! # Security
//! The path comes from a question and may lead anywhere. The system is only asked whether the path leads to something. No file is
//! opened, so a FIFO or a device is never touched and no content is read. Links that lead in a circle lead to nothing. A filesystem
//! that does not answer blocks the thread that asks, so a thread of its own asks.

use std::sync::mpsc;
use std::time::Duration;

use crate::{Time, Until, thread, time};

/// How long to wait for the filesystem. If it takes longer, it counts as one that does not answer.
pub const SLOW: Duration = Duration::from_secs(5);

/// True if the event has come. Blocks for as long as the filesystem does not answer.
pub fn has_come(until: &Until, now: Time) -> bool {
    match until {
        Until::File(path) => std::fs::metadata(path).is_ok(),
        Until::At(at) => *at <= now,
    }
}

/// [`has_come`] in a thread of its own. Returns `None` if the filesystem does not answer within [`SLOW`], or if the system refuses
/// the thread.
pub fn has_come_if_told(until: &Until) -> Option<bool> {
    if let Until::At(_) = until {
        return Some(has_come(until, time::now()));
    }
    let (until, (sender, told)) = (until.clone(), mpsc::channel());
    let look = move || {
        // If the answer comes too late, the receiver is gone and the send fails.
        let _ = sender.send(has_come(&until, time::now()));
    };
    thread::start(look).ok()?;
    told.recv_timeout(SLOW).ok()
}
