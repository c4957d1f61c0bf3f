//! What a watcher knows of the places of `relaunch.max_concurrent` while it looks for a free one.

use std::time::{Duration, Instant};

use crate::disk::Lock;
use crate::error::Result;
use crate::log;

/// How soon to look again while another watcher holds the lock, which it does for milliseconds.
const LOOK_AGAIN_FOR_LOCK: Duration = Duration::from_millis(20);
/// How soon to look again while the runs of others take the places: their ends do not all wake this watcher.
const LOOK_AGAIN_FOR_PLACE: Duration = Duration::from_secs(1);
/// A watcher that holds the lock for so long was stopped by a signal. The others go on without the lock.
const LONGEST_HOLD: Duration = Duration::from_secs(5);

/// When this watcher looks for a place again, and since when it has waited for the lock.
#[derive(Debug, Default)]
pub(in crate::watch) struct Places {
    pub(in crate::watch) look_at: Option<Instant>,
    waits_since: Option<Instant>,
    error_logged: bool,
}

/// The right to take one place. Drop it once the launch shows on disk.
#[derive(Debug)]
pub(super) struct Place {
    _lock: Option<Lock>,
}

impl Places {
    /// The right to count the places and to take one. `None` while another watcher has it. Where the lock cannot be had at all, counting
    /// without it is better than never launching.
    pub(super) fn count_alone(&mut self, lock: Result<Option<Lock>>) -> Option<Place> {
        let lock = match lock {
            Ok(Some(lock)) => {
                (self.waits_since, self.error_logged) = (None, false);
                Some(lock)
            }
            Ok(None) if self.waits_since.get_or_insert_with(Instant::now).elapsed() < LONGEST_HOLD => {
                self.look_at = Some(Instant::now() + LOOK_AGAIN_FOR_LOCK);
                return None;
            }
            Ok(None) => None,
            Err(e) => {
                if !std::mem::replace(&mut self.error_logged, true) {
                    log::error(&e);
                }
                None
            }
        };
        Some(Place { _lock: lock })
    }

    /// All places are taken, some of them by runs of others.
    pub(super) fn look_again(&mut self) {
        self.look_at = Some(Instant::now() + LOOK_AGAIN_FOR_PLACE);
    }
}
