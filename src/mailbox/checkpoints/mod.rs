//! Checkpoints: the state that a fresh process of a workflow resumes from. The document itself is
//! [`crate::mailbox::documents::checkpoint`].
//!
//! | file | idea |
//! |---|---|
//! | [`store`] | read, save, remove |
//! | [`change`] | the agent's changes: the next step, one field |
//! | [`user_answer`] | the field that holds the answer: written by askbox, or by hand |
//! | [`kept_copy`] | the copy of a checkpoint that lies under a temporary folder |

pub mod change;
pub mod kept_copy;
pub mod store;
pub mod user_answer;
