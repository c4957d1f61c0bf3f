//! The story of a round: what happened, why nothing happens, and the command that changes it. It is derived from the files on disk, once for every
//! view.
//!
//! | file | idea |
//! |---|---|
//! | `open_workflows` | the stories of all workflows that are not over, one by one |
//! | `read` | a round's story, from its document and its run's record |
//! | `state` | a round's state, from the folder that it lies in, its run's record and its locks |
//! | `reason` | why a round has its state, and what a person is to do, in words; a round's state in words, from its document alone |
//! | `awaited` | what a workflow that waits for others needs to go on |
//! | `hold_ups` | the causes why one round stands still |
//! | `teller` | tells stories, and keeps what all of them have in common |
//! | `shape` | the content of a story |
//! | [`cause`] | the causes that hold all rounds up, with the command that changes each |
//! | [`begun_with`] | the configuration that the running watcher began with |
//! | `kind` | the kinds of causes |
//! | [`queue`] | the queue of launches: open, paused, or trying one run |

mod awaited;
pub mod begun_with;
pub mod cause;
mod hold_ups;
mod kind;
mod open_workflows;
pub mod queue;
mod read;
mod reason;
mod shape;
mod state;
mod teller;

pub use hold_ups::no_news_for_codex;
pub use kind::{Cause, WaitsFor};
pub use open_workflows::OpenWorkflows;
pub use read::{state_of, unknown, unreadable, work_of};
pub use reason::in_words;
pub use shape::{Mark, Reached, Standing, Story, View, dollars};
pub use state::standing_of;
pub use teller::Teller;
