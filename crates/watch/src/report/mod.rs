//! The figures about the mailbox, for programs and for people who look. [`crate::news`] notifies people who do not look.
//!
//! | file | idea |
//! |---|---|
//! | [`summary`] | the numbers at a glance: `relaunch status --summary` |
//! | `reports` | the same numbers as a file for Prometheus, and the line that the service manager shows |
//! | `last_seen` | the questions that a watcher has noted |

pub(super) mod last_seen;
pub(super) mod reports;
pub mod summary;
