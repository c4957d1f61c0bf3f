//! The pages.
//!
//! | file | page |
//! |---|---|
//! | `inbox` | the questions that wait |
//! | `question` | one question, and its answer: what was filled in comes, what counts goes |
//! | `asked` | a question as its page shows it |
//! | `outcome` | what became of a question: accepted, launched, delivered, result |
//! | `done` | what became of the last questions |
//! | `tree`, `run` | workflows below those that started them; what a run does |
//! | `sign_in` | a device signs in and out |
//! | `problem` | what went wrong |
//! | `events` | what changed, told to pages that are open |
//! | `files` | style, script, icons |
//! | `markdown` | the context of a question as HTML |
//! | `frame` | what all pages have around them |

pub mod asked;
pub mod done;
pub mod events;
pub mod files;
mod frame;
pub mod inbox;
mod markdown;
mod outcome;
pub mod problem;
pub mod question;
pub mod run;
pub mod sign_in;
pub mod tree;
