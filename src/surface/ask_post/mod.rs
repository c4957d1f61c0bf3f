//! `ask-post`.

pub mod posting;
pub mod receipt;
pub mod wait;
