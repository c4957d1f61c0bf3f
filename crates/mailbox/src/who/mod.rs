//! The processes that use the mailbox.
//!
//! | file | idea |
//! |---|---|
//! | `asked_within` | checks that a process or a question belongs to the run that it names |
//! | `caller` | the process that decides: its name, its channel, its origin, and what it may decide |
//! | `presence` | whether a watcher or a person is present |

pub mod asked_within;
pub mod caller;
pub mod presence;
