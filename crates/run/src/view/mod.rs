//! Views of runs. They read the mailbox and change nothing.
//!
//! - `tail`: the events of a run and the text that its model is generating, while they are written
//! - `workflow_events`: the events of a workflow's later runs, one after the other
//! - `activity`: the current activity of a run, derived from its events
//! - `status`: the state of each workflow's newest round
//! - `history`: a round that was answered or is over

pub mod activity;
pub mod history;
pub mod status;
pub mod tail;
pub mod workflow_events;
