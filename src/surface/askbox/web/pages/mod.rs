//! The pages.
//!
//! | file | page |
//! |---|---|
//! | `inbox` | the questions that wait |
//! | `question` | one question, and its answer: what was filled in comes, what counts goes |
//! | `elsewhere` | the same for a question of another machine: an answer is sent, and accepted there or not |
//! | `ask` | the page on which a question is answered, wherever it waits |
//! | `asked` | a question as its page shows it |
//! | `outcome` | what became of a question: accepted, launched, delivered, result |
//! | `done` | what became of the last questions |
//! | `tree`, `run` | workflows below those that started them; what a run does |
//! | `sign_in` | a device signs in and out |
//! | `events` | what changed, told to pages that are open |
//! | `markdown` | the context of a question as HTML |
//! | `frame` | what all pages have around them |

mod ask;
pub mod asked;
pub mod done;
mod elsewhere;
pub mod events;
mod frame;
pub mod inbox;
mod markdown;
mod outcome;
pub mod question;
pub mod run;
pub mod sign_in;
pub mod tree;
