//! The watcher: the service that relaunches agents whose questions were answered.
//!
//! The folders of the mailbox are the truth. A file event only says where to look first; every minute the watcher looks at every
//! folder that matters. A watcher keeps nothing that a restart could lose: its runs go on without it, and the next watcher finds
//! their locks held. Many watchers on one mailbox are safe, since one rename claims a round and one lock owns its run.
//!
//! ```text
//! start up      complete what a crash left in pending/ → look at every folder → launch → ready
//! loop          a message or a date → look where it points → wake parents → launch what may be launched → report → sleep
//! launch        answered/ID.json → claim → breaker and day's budget → supervisor process → its end is a message
//! ```
//!
//! | file | idea |
//! |---|---|
//! | [`messages`] | what wakes a watcher, how it is configured, why it stopped |
//! | [`watcher`] | the parts of one watcher, and its loop: sleep, take a message, react |
//! | `one_path` | a look at one path |
//! | `every_folder` | a look at every folder, or at one tree: at the start, every minute, and after lost events |
//! | `served` | the mailbox that it serves, and how |
//! | `connection` | the file events, the mark that the service runs, and the mailbox's identity |
//! | `dates` | when there is something to do although no message came |
//! | [`availability`] | a mailbox that does not exist yet, is moved, or is unmounted |
//! | [`scope`] | which workflows a watcher serves: all, or one tree |
//! | [`tree_driver`] | a watcher of one tree, for a command that waits for a workflow |
//! | `look` | questions, due dates, events, parents whose children ended, left-over files |
//! | `launch` | which run is started next, its supervisor, and rounds that lost theirs |
//! | [`breaker`] | when no run, or only one, may be launched |
//! | [`report`] | what programs are told, and people who look: metrics, summary, status line |

pub mod availability;
pub mod breaker;
mod connection;
mod dates;
mod every_folder;
mod launch;
mod look;
pub mod messages;
mod one_path;
pub mod report;
pub mod scope;
mod served;
pub mod tree_driver;
pub mod watcher;
