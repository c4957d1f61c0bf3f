//! The checks that need nothing but the document.
//!
//! | file | idea |
//! |---|---|
//! | `check_question` | what makes a question valid |
//! | `check_approval` | the rules of a question with the field `approval` |
//! | `check_draft` | what a poster refuses although a reader takes it |
//! | `check_answer` | which answers fit a question |
//! | `match_option` | which option a person's words mean |

pub mod check_answer;
pub(in crate::mailbox::documents) mod check_approval;
pub mod check_draft;
pub mod check_question;
pub mod match_option;
