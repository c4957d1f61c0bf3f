//! What a run does now, from the events that its agent has shown.
//!
//! - `live`: the current activity of a run, derived from its events
//! - `so_far`: the same of one attempt, kept beside its events, so that a reader does not read them all

pub mod live;
pub mod so_far;
