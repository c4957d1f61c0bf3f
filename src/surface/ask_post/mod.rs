//! `ask-post`.
//!
//! - `post_question`: one question, from flags or from a file
//! - `batch`: many questions, from one JSON array
//! - `posting`: reads question documents, and fills in what the environment says about the asker
//! - `inline_wait`: `--wait`, which takes the answer over if it comes in time
//! - `no_checkpoint`: the warning that the next process will know nothing but the question
//! - `post_receipt`: what is printed

mod batch;
mod inline_wait;
mod no_checkpoint;
mod post_question;
mod post_receipt;
pub(super) mod posting;

pub use post_question::run;
