//! What the inbox of a terminal and the page have in common.
//!
//! - `decision`: what a person decides about one question
//! - `as_shown`: an answer counts only for the question that the person saw

pub mod as_shown;
pub mod decision;
