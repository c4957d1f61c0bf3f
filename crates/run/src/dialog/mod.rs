//! The dialogs of attended sessions (the field `live` of a question). The hook beside the dialog waits for the answer with the lock of a
//! waiter. It prints the answer as its decision and ends, so it cannot see itself whether the session took it.
//!
//! - `beside`: the question beside a dialog, held by the process that takes its answer
//! - `end`: the three ends of an answer that was sent, and their words
//! - `settle`: the receipt in the session's transcript says whether an answer reached its dialog
//! - `next_prompt`: a late answer as the next prompt of its session
//! - `orphans`: questions and answers whose hook was killed
//! - `place`: the project and the branch of a dialog, and the workflow of its question

pub mod beside;
pub mod end;
pub mod next_prompt;
pub mod orphans;
pub mod place;
pub mod settle;

#[cfg(test)]
mod tests;
