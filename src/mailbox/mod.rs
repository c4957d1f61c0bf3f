//! The mailbox.

pub mod audit;
pub mod awaits;
pub mod checkpoints;
pub mod documents;
pub mod layout;
pub mod lineage;
pub mod list;
#[cfg(feature = "relaunch")]
pub mod presence;
pub mod quarantine;
pub mod read;
pub mod round;
pub mod timers;
pub mod transitions;
pub mod workflows;

pub use documents::answer::{Answer, AnswerValue, Outcome};
pub use documents::question::{Question, QuestionDocument};
pub use layout::{Folder, Mailbox, WorkflowLock};
