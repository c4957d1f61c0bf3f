//! What the watcher looks at, and what it does about what it finds.
//!
//! | file | idea |
//! |---|---|
//! | `hinted` | one path that a file event named |
//! | `everything` | every folder: at the start, every minute, and after lost events |
//! | `tree` | every member of one tree, for a watcher that serves no other |
//! | `questions` | a file in `pending/`: new, changed, incomplete or invalid |
//! | `due_dates` | expiries, reminders and retries whose date has come |
//! | `events` | the events that questions wait for; `awaited_files`: those that are files |
//! | `parents` | waking the parents of workflows that ended |

pub(super) mod awaited_files;
pub(super) mod due_dates;
pub(super) mod events;
pub(super) mod everything;
pub(super) mod hinted;
pub(super) mod parents;
pub(super) mod questions;
pub(super) mod tree;
