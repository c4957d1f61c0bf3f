//! Checks that need only the document, and not the disk.
//!
//! | file | idea |
//! |---|---|
//! | `check_question` | decides whether a question is valid |
//! | `check_draft` | what a poster refuses although readers accept it |
//! | `check_answer` | decides whether an answer fits a question |
//! | `match_option` | finds the option that a person's words mean |

pub mod check_answer;
pub mod check_draft;
pub mod check_question;
pub mod match_option;
