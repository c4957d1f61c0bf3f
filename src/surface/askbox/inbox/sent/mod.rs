//! What was answered.
//!
//! - `from_here`: all that was sent from this screen, and what other machines decided about it
//! - `given`: what was sent from this screen, and how it stands
//! - `outcomes`: what became of answered questions: the second pane

pub mod from_here;
pub mod given;
pub mod outcomes;
