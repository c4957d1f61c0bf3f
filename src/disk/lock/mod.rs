//! Locks: `flock` on files of the mailbox.
//!
//! - `flock`: takes, tries and waits for a lock.
//! - `holder`: finds the process that holds a lock.
//! - `patience`: how long a program waits for a lock that another process holds.

mod flock;
mod holder;
mod patience;

pub use flock::Lock;
pub use holder::{LockHolder, lock_holder};
pub use patience::Patience;

/// For tests: whether a lock that was released is free. A process that another test starts holds all locks of this one for a moment, until it
/// has become its program.
#[cfg(test)]
pub(crate) fn becomes_free(path: &std::path::Path) -> bool {
    for _ in 0..1000 {
        if Lock::is_held(path).is_ok_and(|is_held| !is_held) {
            return true;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    false
}
