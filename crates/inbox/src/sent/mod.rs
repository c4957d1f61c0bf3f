//! The answers that were sent.
//!
//! - `from_here`: each answer that was sent from this screen, and the decisions of other machines about it
//! - `outcomes`: the second pane, with the answered questions and their state

pub mod from_here;
pub mod outcomes;
