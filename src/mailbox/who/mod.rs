//! Which processes deal with the mailbox.
//!
//! | file | idea |
//! |---|---|
//! | `answerer` | who gives an answer, and through what |
//! | `asked_within` | whether a process or a question belongs to the run that it names |
//! | `presence` | whether a watcher is present |

pub mod answerer;
pub mod asked_within;
#[cfg(feature = "relaunch")]
pub mod presence;
