//! The open question.
//!
//! - `opened`: the question on the screen, and the effect of each key
//! - `draft`: an answer before it is sent
//! - `kept_drafts`: drafts that outlive the inbox

pub mod draft;
pub mod kept_drafts;
pub mod opened;
pub mod stray;
