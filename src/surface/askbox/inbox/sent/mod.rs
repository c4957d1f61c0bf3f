//! What was answered.
//!
//! - `given`: what was sent from this screen, and how it stands
//! - `outcomes`: what became of answered questions: the second pane

pub mod given;
pub mod outcomes;
