//! The documents and their transitions. Everything here is short, synchronous and done under the workflow's lock.

pub mod adopt;
pub mod answer;
pub mod audit;
pub mod awaits;
pub mod close;
pub mod intake;
pub mod layout;
pub mod lineage;
pub mod list;
pub mod options;
pub mod post;
pub mod question;
pub mod timers;
pub mod validate;
pub mod workflow;

pub use answer::{Answer, AnswerValue, Outcome};
pub use layout::{Folder, Mailbox, WorkflowLock};
pub use question::{Question, QuestionDocument};
