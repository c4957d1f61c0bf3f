//! Who may write to a folder of the mailbox.
//!
//! - `check`: refuses a folder that other users may write to.
//! - `tighten`: makes a folder private that was made under umask 002 and that nobody else has written to.

mod check;
mod tighten;

pub use check::{check_folder, is_of_a_mailbox};
pub(super) use check::{check_trust, is_loose, is_private, no_mailbox, user};
pub(super) use tighten::tighten;
