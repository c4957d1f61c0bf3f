//! What a person sees of the mailbox without answering.
//!
//! | file | idea |
//! |---|---|
//! | `tree_view` | `askbox tree` |
//! | `history_view` | `askbox history` |
//! | `count` | `askbox count` |

pub mod count;
pub mod history_view;
pub mod tree_view;
