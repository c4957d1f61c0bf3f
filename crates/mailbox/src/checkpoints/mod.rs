//! Checkpoints hold the state of a workflow, so that a fresh process can resume it. The document itself is
//! [`crate::documents::checkpoint`].
//!
//! | file | idea |
//! |---|---|
//! | [`store`] | read, save, remove, and keep a copy of one that lies under a temporary folder |
//! | [`change`] | the agent's changes: the next step, one field |
//! | [`user_answer`] | the field that holds the answer, written by askbox or by hand |

pub mod change;
pub mod store;
pub mod user_answer;
