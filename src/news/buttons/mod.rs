//! Answers by buttons in a notification, through ntfy's topic for replies.
//!
//! | file | idea |
//! |---|---|
//! | `listener` | the stream that the answers come through |
//! | `replies` | what makes an answer count |
//! | `fuzzed` | the same for `fuzz/`, with the feature `fuzzing` |

#[cfg(feature = "fuzzing")]
pub mod fuzzed;
pub(in crate::news) mod listener;
pub(in crate::news) mod replies;
