//! What the inbox of a terminal and the page have in common.
//!
//! - `as_shown`: an answer counts only for the question that the person saw

pub mod as_shown;
