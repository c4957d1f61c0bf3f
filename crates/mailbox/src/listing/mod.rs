//! Lists of what the mailbox holds.
//!
//! | file | idea |
//! |---|---|
//! | `list` | the names in a folder, and the pending questions; the workflow that a misspelt id probably means |
//! | `closings` | the rounds that were closed last, found without listing `closed/` |
//! | `recent_rounds` | the newest rounds of a workflow, found without reading its history |
//! | `newest_first` | sorts a list in bounded memory |

pub mod closings;
pub mod list;
pub mod newest_first;
pub mod recent_rounds;
