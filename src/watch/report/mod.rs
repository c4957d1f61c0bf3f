//! What programs are told about the mailbox, and people who look. Who is told without looking: [`crate::news`].
//!
//! | file | idea |
//! |---|---|
//! | [`summary`] | the numbers at a glance: `relaunch status --summary` |
//! | `metrics` | the same numbers as a file for Prometheus |
//! | `reports` | that file, and the line that the service manager shows |
//! | `last_seen` | of which questions a watcher has taken note |

pub(super) mod last_seen;
mod metrics;
pub(super) mod reports;
pub mod summary;
