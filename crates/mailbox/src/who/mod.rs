//! The processes that use the mailbox.
//!
//! | file | idea |
//! |---|---|
//! | `caller` | the process that decides: its name, its channel, its origin, and what it may decide; checks that a process or a question belongs to the run that it names |
//! | `presence` | whether a watcher or a person is present |

pub mod caller;
pub mod presence;
