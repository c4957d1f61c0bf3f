//! `ask-answer`.
//!
//! - `answer_commands`: runs each command
//! - `answering`: from words or JSON to the answer that a question asks for
//! - `ask_user`: Claude Code's AskUserQuestion, its input and its result
//! - `question_text`, `listing`: questions as people read them
//! - `editor`: a long answer, written in the user's editor
//! - `inbox`: the pending questions on a terminal, one after the other

mod answer_commands;
pub mod answering;
pub mod ask_user;
mod editor;
#[cfg(feature = "inbox")]
pub(in crate::surface) mod inbox;
mod listing;
pub mod question_text;

pub use answer_commands::run;
