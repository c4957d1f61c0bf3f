//! The inbox of `ask-answer`: the pending questions on a terminal, one after the other.
//!
//! The screen shows a copy of the mailbox. A question may be answered, withdrawn or replaced while a person reads it. So an answer
//! names the round that was shown; if that round is over, the inbox says who answered first and goes on.
//!
//! - `browse`: the list of pending questions
//! - `asking`: asks for the answer to one question
//! - `prompts`: single prompts, and what the user did at them

mod asking;
mod browse;
mod prompts;

pub use browse::run;
