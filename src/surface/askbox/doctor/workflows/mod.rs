//! The workflows of the mailbox, document by document.
//!
//! | file | checks |
//! |---|---|
//! | `documents` | every document, each by one of the files below |
//! | `one_workflow` | the documents of one workflow |
//! | `open_questions` | questions that wait, and answers that nobody takes up |
//! | `runs` | claimed and parked rounds |
//! | `waits` | workflows that wait for others |
//! | `held` | what holds everything up |

pub(super) mod documents;
pub(super) mod held;
pub(super) mod one_workflow;
pub(super) mod open_questions;
pub(super) mod runs;
pub(super) mod waits;
