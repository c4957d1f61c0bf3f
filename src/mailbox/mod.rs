//! The documents and their transitions. Everything here is short, synchronous and done under the workflow's lock.

pub mod adopt;
pub mod answer;
pub mod audit;
pub mod awaits;
pub mod close;
pub mod documents;
pub mod intake;
pub mod layout;
pub mod lineage;
pub mod list;
pub mod post;
#[cfg(feature = "relaunch")]
pub mod presence;
pub mod timers;

pub use answer::{Answer, AnswerValue, Outcome};
pub use documents::question::{Question, QuestionDocument};
pub use layout::{Folder, Mailbox, WorkflowLock};
