//! The watcher: the service that relaunches agents whose questions were answered.
//!
//! The folders of the mailbox are the truth. A file event only says where to look first; every minute the watcher looks at every folder
//! that matters. A watcher keeps nothing that a restart could lose: its runs go on without it, and the next watcher finds their locks
//! held. Many watchers on one mailbox are safe, because one rename claims a round and one lock owns its run.
//!
//! ```text
//! start up      complete what a crash left in pending/ → look at every folder → launch → ready
//! loop          a message or a date → look where it points → wake parents → launch what may be launched → report → sleep
//! launch        answered/ID.json → claim → breaker and day's budget → supervisor process → its end is a message
//! ```
//!
//! | file | idea |
//! |---|---|
//! | [`relaunch`] | the commands of `relaunch` |
//! | [`messages`] | the messages that wake a watcher, its options, why it stopped |
//! | [`watcher`] | the parts of one watcher, and its loop: sleep, take a message, react. It looks at one path, or at every folder or at one tree: at the start, every minute, and after lost events |
//! | [`connection`] | the file events, the mark that the service runs, and the mailbox's identity; a mailbox that does not exist yet, is moved, or is unmounted |
//! | [`beside`] | a program that works beside the watcher |
//! | [`pauses`] | the growing pauses between the starts of something that keeps ending |
//! | `dates` | the dates when there is something to do although no message came |
//! | [`scope`] | the mailbox that it serves, and which workflows: all, or one tree |
//! | [`tree_driver`] | a watcher of one tree, for a command that waits for a workflow |
//! | `look` | questions, due dates, events, parents whose children ended, left-over files |
//! | [`news`] | notifies people, at the desk or on the phone |
//! | `housekeeping` | archives old rounds, once a day |
//! | `launch` | the choice of the next run, its supervisor, and rounds that lost theirs |
//! | [`traces`] | what the exporter of traces is told, and what it counts |
//! | [`report`] | the figures for programs and people: metrics, summary, status line |

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

pub mod beside;
pub mod connection;
mod dates;
mod housekeeping;
mod launch;
mod look;
pub mod messages;
pub mod news;
pub mod pauses;
pub mod relaunch;
pub mod report;
pub mod scope;
pub mod traces;
pub mod tree_driver;
pub mod watcher;
