//! Lists for people: the questions that wait, past rounds, and all workflows.
//!
//! | file | idea |
//! |---|---|
//! | `waiting` | the questions that wait, in the order of the inbox |
//! | `past_rounds` | rounds that are over, or whose answer is taken, the newest first |
//! | `known_workflows` | every workflow that left a trace |

pub mod known_workflows;
pub mod past_rounds;
pub mod waiting;
