//! Views of runs. They read the mailbox and change nothing.
//!
//! - `tail`: the events of a run, while they are written
//! - `partial_tail`: the text that its model generates just now
//! - `workflow_events`: the events of a workflow's later runs, one after the other
//! - `activity`: what a run does now, derived from its events
//! - `status`: where the newest round of each workflow stands
//! - `history`: a round that was answered or is over

pub mod activity;
pub mod history;
mod partial_tail;
pub mod status;
pub mod tail;
pub mod workflow_events;
