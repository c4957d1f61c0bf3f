//! Checks that need only the document, and not the disk.
//!
//! | file | idea |
//! |---|---|
//! | `check_question` | decides whether a question is valid |
//! | `check_draft` | what a poster refuses although readers accept it |
//! | `check_answer` | decides whether an answer fits a question |
//! | `check_allowance` | decides whether the answer to a tool call may be edited, and have words beside it |
//! | `match_option` | finds the option that a person's words mean |

mod check_allowance;
pub mod check_answer;
pub mod check_draft;
pub mod check_question;
pub mod match_option;
