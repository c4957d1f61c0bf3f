//! Lists of what the mailbox holds.
//!
//! | file | idea |
//! |---|---|
//! | `list` | the names in a folder, and the pending questions |
//! | `past_rounds` | the rounds that were answered or are over, the newest first |
//! | `closings` | the rounds that were closed last, found without listing `closed/` |
//! | `recent_rounds` | the newest rounds of a workflow, found without reading its history |
//! | `known_workflows` | all workflows, the newest first |
//! | `newest_first` | sorts both of these lists in bounded memory |
//! | `near_id` | the workflow that a misspelt id probably means |

pub mod closings;
pub mod known_workflows;
pub mod list;
pub mod near_id;
pub mod newest_first;
pub mod past_rounds;
pub mod recent_rounds;
