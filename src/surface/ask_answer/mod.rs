//! `ask-answer`.

pub mod answering;
pub mod ask_user;
pub mod edit;
#[cfg(feature = "inbox")]
pub mod inbox;
pub mod listing;
pub mod show;
