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
