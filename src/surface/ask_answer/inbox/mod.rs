//! The inbox of `ask-answer`: the pending questions on a terminal, one after the other.
//!
//! The screen shows a copy of the mailbox. A question may be answered, withdrawn or replaced while a person reads it. So an answer
//! names the round that was shown; if that round is over, the inbox says who answered first and goes on.
//!
//! - `browse`: the list of pending questions
//! - `asking`: asks for the answer to one question
//! - `menu`: the options of a question as a menu
//! - `own_words`: words of the person's own, and what is meant where they are close to an option
//! - `prompts`: single prompts, and what the user did at them

mod asking;
mod browse;
mod menu;
mod own_words;
mod prompts;

pub(in crate::surface) use asking::ask_all;
pub use browse::run;
pub(in crate::surface) use prompts::Reply;
