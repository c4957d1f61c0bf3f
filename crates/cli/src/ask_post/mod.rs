//! `ask-post`.
//!
//! - `post_question`: posts one question from flags or from a file, or many from one JSON array
//! - `asked_before`: finds a question that an earlier attempt of the run asked, and that is answered
//! - `attached`: `--attach`, the files that are shown beside the question
//! - `posting`: reads question documents, and fills in what the environment says about the asker
//! - `hearer`: finds the agent whose command a waiting `ask-post` is, and notices its end
//! - `inline_wait`: `--wait`, which takes the answer over if it comes in time
//! - `person_waits`: tells a person at a terminal what `--wait` waits for, and at Ctrl-C how to go on
//! - `post_receipt`: prints receipts and answers, and warns that the next process will know only the question

mod asked_before;
mod attached;
mod hearer;
mod inline_wait;
mod person_waits;
mod post_question;
mod post_receipt;
pub mod posting;

pub use post_question::run;
