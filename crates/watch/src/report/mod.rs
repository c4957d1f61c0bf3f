//! The figures about the mailbox, for programs and for people who look. [`crate::news`] notifies people who do not look.
//!
//! | file | idea |
//! |---|---|
//! | `reports` | the numbers at a glance (`relaunch status --summary`), as a file for Prometheus, and as the line that the service manager shows |
//! | `last_seen` | the questions that a watcher has noted |

pub(super) mod last_seen;
pub mod reports;
