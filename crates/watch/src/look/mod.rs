//! The things that a watcher finds in the mailbox, and its steps for each of them.
//!
//! | file | idea |
//! |---|---|
//! | `questions` | a file in `pending/`: new, changed, incomplete or invalid; the sweep at the start; posts that a crash interrupted, and temporary files |
//! | `due_dates` | expiries, reminders and retries whose date has come |
//! | `events` | the events that questions wait for |
//! | `awaited_files` | the files that questions wait for |
//! | `overdue` | the end of a question whose date or event has come |
//! | `parents` | waking the parents of workflows that ended |

mod awaited_files;
pub(super) mod due_dates;
pub(super) mod events;
pub(crate) mod overdue;
pub(super) mod parents;
pub(super) mod questions;
