//! Which processes deal with the mailbox.
//!
//! | file | idea |
//! |---|---|
//! | `asked_within` | whether a process or a question belongs to the run that it names |
//! | `caller` | the process that decides: in whose name, through what, below whom; what it may decide |
//! | `presence` | whether a watcher is present |

pub mod asked_within;
pub mod caller;
#[cfg(feature = "relaunch")]
pub mod presence;
