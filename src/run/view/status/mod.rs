//! The status of workflows: where the newest round of each stands.
//!
//! - `shape`: what a status says ([`Status`], [`Standing`], [`View`])
//! - `derive`: how it is derived from the folder a round lies in, its run's record and its locks

mod derive;
mod shape;

pub use derive::{at_a_glance, of, of_closed, of_round, open, standing_of, unknown, unreadable, without_record, work_of};
pub use shape::{Standing, Status, View};
