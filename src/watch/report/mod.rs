//! What programs are told about the mailbox, and people who look. Who is told without looking: [`crate::news`].
//!
//! | file | idea |
//! |---|---|
//! | [`summary`] | the numbers at a glance: `relaunch status --summary` |
//! | `metrics` | the same numbers as a file for Prometheus |
//! | `status_line` | the line that the service manager shows |
//! | `last_seen` | of which questions a watcher has taken note |

pub(super) mod last_seen;
pub(super) mod metrics;
pub(super) mod status_line;
pub mod summary;
