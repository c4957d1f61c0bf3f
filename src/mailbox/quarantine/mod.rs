//! Files that cannot be used. Each lies in `quarantine/` beside a `.reason`.
//!
//! | file | idea |
//! |---|---|
//! | `files` | moves a file there once its grace time is over |
//! | `held` | what such a file holds, in words |
//! | [`quarantined_round`] | answered and claimed rounds whose file lies there |

mod files;
mod held;
pub mod quarantined_round;

pub(super) use files::grace_left;
#[cfg(feature = "relaunch")]
pub use files::keep_copy;
pub use files::{GRACE, Reason, quarantine, reason, reason_of};
