//! Other machines: their questions are seen and answered from here. **Answers travel, launches stay**: the machine that has a question
//! decides whether an offered answer counts, and runs the agent. Nothing here reads or changes a mailbox but through [`waiting`].
//!
//! A [`Peer`] is a way to other machines. [`Peers`] keeps one thread for each, and what they report; a
//! surface looks at that and never waits for a machine. What cannot be reached stays to be seen, with the age of what is known.
//!
//! Everything that a machine says is hostile: bounded here, read and checked like a file that a stranger put into the mailbox, and
//! filtered before it is shown. The names of machines come from the configuration alone.
//!
//! | file | idea |
//! |---|---|
//! | [`peer`] | the seam: what every way to other machines does, and what it reports |
//! | [`remote_question`] | a question of another machine, checked |
//! | [`known`] | what is known of one machine, within bounds |
//! | [`undecided`] | answers that were sent to a machine, and that it has not decided about |
//! | [`ended`] | how a question ended that waits no longer |
//! | [`collection`] | all peers: the threads, and what they report together |
//! | [`state`] | what all peers have reported together |
//! | `threads` | the thread of each peer, offers that are made again, and what these threads share |
//! | `offers` | offers under way, and what became of them |
//! | `cache` | what was known last, on disk |
//! | [`waiting`] | the questions of all machines in one order |
//! | [`lines`] | what the programs of two machines say to each other |
//! | [`ssh`] | machines that are reached by ssh |
//! | `database` | machines that are reached through a database (feature `sync`) |
//! | `without_database` | says that the feature is missing |

mod cache;
pub mod collection;
#[cfg(feature = "sync")]
pub mod database;
pub mod ended;
pub mod known;
pub mod lines;
mod offers;
pub mod peer;
#[cfg(test)]
mod played;
pub mod remote_question;
pub mod ssh;
pub mod state;
mod threads;
pub mod undecided;
pub mod waiting;
#[cfg(not(feature = "sync"))]
mod without_database;

pub use collection::Peers;
pub use ended::Ended;
pub use known::{HostView, Reach};
pub use offers::Progress;
pub use peer::{Change, Offered, Peer, Problem, Stop};
pub use remote_question::RemoteQuestion;
pub use undecided::Undecided;
