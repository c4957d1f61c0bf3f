//! `ask-answer`.
//!
//! - `answer_commands`: runs each command
//! - `answering`: from words or JSON to the answer that a question asks for
//! - `ask_user`: Claude Code's AskUserQuestion, its input and its result
//! - `question_text`, `listing`: questions as people read them
//! - `filter`: which questions have the words that a person looks for
//! - `elsewhere`: whether other machines come in, and how the command becomes a part of `askbox` then
//! - `short_id`: a part of an id instead of the whole
//! - `editor`: a long answer, written in the user's editor

mod answer_commands;
pub mod answering;
pub mod ask_user;
pub mod editor;
pub mod elsewhere;
pub mod filter;
pub mod listing;
pub mod question_text;
pub mod short_id;

pub use answer_commands::{opens, run};
