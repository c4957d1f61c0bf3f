//! `ask-post`.
//!
//! | file | idea |
//! |---|---|
//! | `post_question` | posts one question from flags or a file, or many from JSON |
//! | `posting` | reads question documents, and adds the asker from the environment |
//! | `inline_wait` | `--wait`, which takes the answer over if it comes in time |
//! | `post_receipt` | prints receipts, answers, and a warning about the next process |

mod inline_wait;
mod post_question;
mod post_receipt;
pub mod posting;

pub use post_question::run;
