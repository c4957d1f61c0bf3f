//! News: notifies people, at the desk or on the phone, about events of questions, so that they need not look.
//!
//! One thread of the watcher notifies all targets. The folders of the mailbox alone decide what is sent (`wanted`): a message to the
//! thread only says where to look. Each round has one record on disk for each target. In it, each event goes from `wanted` over
//! `sending` to `sent`, or is dropped. So a restart forgets nothing. An event that a crash leaves at `sending` is sent again with the
//! same id, so that the target can replace the first message or recognize the second.
//!
//! ```text
//! look    mailbox → facts → which events are wanted → record
//! tell    due, not in quiet hours, nobody sees it anyway → the target's channel, at most four at a time, many events as one
//! hear    an answer from the channel → the ordinary answer, once → its receipt
//! ```
//! If a mailbox has several watchers, the one that holds the lock `locks/news` notifies.
//!
//! | file | idea |
//! |---|---|
//! | [`courier`] | the thread: look, tell, hear |
//! | `desk` | one target at work |
//! | `channel` | the program that tells a target's people, and hears them; the messages to the thread |
//! | [`lines`] | the lines between the watcher and a channel |
//! | `wanted` | the state of a round in the mailbox, and the events to send that follow from it |
//! | `sessions` | events of sessions without a question: dialogs at terminals that nobody can answer from another place, and prompts |
//! | `record` | how far each event of a round and a target has come, and these records on disk |
//! | `post` | which events are sent now, and which together; whether a person sees a new question anyway |
//! | `message` | an event in words |
//! | [`arrivals`] | when a target was last told, and when that last failed; `askbox notify test`: one message now |
//! | [`waiting`] | the events that should have been sent long ago |
//!
//! # Limitations
//! It is only known that a target took an event: no notification service reports whether a person saw it. Records are not synced, so
//! after a power cut a target may get an event twice, with the same id.

pub mod arrivals;
mod channel;
pub mod courier;
mod desk;
pub mod lines;
mod message;
mod post;
mod record;
mod sessions;
pub mod waiting;
mod wanted;

pub use arrivals::problem;
pub use channel::OURS;
