//! What lies in the mailbox over time, for people who look: past rounds, and all workflows.
//!
//! | file | idea |
//! |---|---|
//! | `past_rounds` | rounds that are over, or whose answer is taken, the newest first |
//! | `known_workflows` | every workflow that left a trace |

pub mod known_workflows;
pub mod past_rounds;
