//! `askbox gc`: archives and removes rounds that ended long ago. It may run beside every other program, even other gcs: each step
//! happens under its workflow's lock, and everything that could still be needed stays.
//!
//! A round is removed in this order:
//! 1. rename `closed/W.Q.json` to `closed/.tmpgone.W.Q.json`: **the commit point**. No program sees the round any more;
//! 2. remove its runs, and the files that were shown beside its question;
//! 3. remove the renamed document.
//!
//! A round that goes into the archive is written there before that, durably (see [`crate::archive`]). It is removed only if its files are
//! still those that were archived.
//!
//! The next gc completes the work of an interrupted one. Nothing is synced, so after a power cut a pruned round may be there again,
//! without its runs, until the next gc.
//!
//! | file | idea |
//! |---|---|
//! | `pass` | one gc: its task, its report, its limits, and the checks that its steps share |
//! | `collect` | the course of a gc |
//! | `archive_logs` | archives old parts of the audit trail, and old bookings |
//! | `open_workflows` | which workflows are not over |
//! | `select` | which rounds of a workflow may be removed |
//! | `round_files` | which files a round has |
//! | `remove_rounds` | the removal. It also completes the work of an interrupted gc |

mod archive_logs;
mod collect;
mod open_workflows;
mod pass;
mod remove_rounds;
mod round_files;
mod select;

pub use collect::{run, run_as};
pub use pass::{Archived, Fate, GONE, Left, Policy, Report, Tally};
pub use round_files::{Cost, cost};
