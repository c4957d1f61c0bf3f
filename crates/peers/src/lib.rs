//! Other machines: their questions are seen and answered from here. **Answers travel, launches stay**: the machine that has a question
//! decides if an offered answer counts, and runs the agent. This module reads and changes mailboxes only through [`waiting`].
//!
//! A [`Peer`] is a way to other machines. [`Peers`] keeps one thread for each of them, and their reports. A surface looks at the
//! reports and never waits for a machine. Machines that cannot be reached stay visible, with the age of their state.
//!
//! Everything that a machine says is hostile. It is limited here, read and checked like a file that a stranger put into the mailbox,
//! and filtered before it is shown. The names of machines come from the configuration alone.
//!
//! | file | idea |
//! |---|---|
//! | [`machines`] | `ask-answer` for other machines |
//! | [`peer`] | the common interface of all ways to other machines, and their reports |
//! | [`remote_question`] | a question of another machine, checked, and its end if it no longer waits |
//! | [`known`] | the known state of one machine, within limits |
//! | [`collection`] | all peers: the threads, and their common reports |
//! | [`state`] | the reports of all peers together |
//! | `threads` | the thread of each peer, offers that are made again, and the state that these threads share |
//! | `offers` | offers under way, and their results |
//! | `cache` | the last known state, on disk |
//! | [`waiting`] | the questions of all machines in one order |
//! | [`lines`] | the protocol between the programs of two machines |
//! | [`ssh`] | machines that are reached by ssh |
//! | `sync_command` | `askbox sync` (feature `sync`) |
//! | `sync` | the questions of many machines through PostgreSQL (feature `sync`) |
//! | `database` | machines that are reached through a database (feature `sync`) |
//! | `without_database` | reports that the feature is missing |

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

mod cache;
pub mod collection;
#[cfg(feature = "sync")]
pub mod database;
pub mod known;
pub mod lines;
pub mod machines;
mod offers;
pub mod peer;
pub mod remote_question;
pub mod ssh;
pub mod state;
#[cfg(feature = "sync")]
pub mod sync;
#[cfg(feature = "sync")]
pub mod sync_command;
#[cfg(test)]
mod tests;
mod threads;
pub mod waiting;
#[cfg(not(feature = "sync"))]
mod without_database;

pub use collection::Peers;
pub use known::{HostView, Reach};
pub use peer::{Change, Peer, Problem, Progress, Stop, Unanswered, Undecided};
pub use remote_question::{Ended, RemoteQuestion};
