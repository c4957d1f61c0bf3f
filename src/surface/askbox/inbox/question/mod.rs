//! The question that is open.
//!
//! - `opened`: what is shown of it, and what each key does to it
//! - `draft`: an answer before it is sent
//! - `kept`: drafts that outlive the inbox

pub mod draft;
pub mod kept;
pub mod opened;
