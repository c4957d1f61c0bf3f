//! The documents of the mailbox as types, and what makes each of them valid.

pub mod checkpoint;
pub mod options;
pub mod question;
pub mod validate;
pub mod workflow;
