//! What people and programs are told about the mailbox.
//!
//! | file | idea |
//! |---|---|
//! | [`summary`] | the numbers at a glance: `relaunch status --summary` |
//! | `metrics` | the same numbers as a file for Prometheus |
//! | `status_line` | the line that the service manager shows |
//! | `notifier` | what the user is told of questions, a few at a time |
//! | `notification` | one run of the operator's notification program |
//! | `last_notified` | since when the user has not been notified of new questions |

pub(super) mod last_notified;
pub(super) mod metrics;
mod notification;
pub(super) mod notifier;
pub(super) mod status_line;
pub mod summary;
