//! A filesystem mailbox through which coding agents ask their user, and a watcher that relaunches them with the answer.
//!
//! ```
//! use askbox::mailbox::transitions::accept::{self, Decision};
//! use askbox::mailbox::transitions::post;
//! use askbox::mailbox::who::caller::Caller;
//! use askbox::mailbox::{AnswerValue, Folder, Mailbox, Question};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let folder = tempfile::tempdir()?;
//! let mailbox = Mailbox::open_or_create(folder.path().join("questions"))?;
//! let workflow = "docs-42".parse()?;
//!
//! // An agent asks. Once this returns, the question survives a power cut, and the agent may exit.
//! let question = Question::new("docs-42".parse()?, "Merge the two sections?");
//! post::post(&mailbox, question, post::IfPending::Conflict)?;
//!
//! // A person answers. The first answer counts.
//! let ann = Caller::person("ann", "example")?;
//! let answer = ann.value(AnswerValue::Text("yes, merge them".into()));
//! accept::answer(&mailbox, &workflow, Decision::of(&ann, None), answer)?;
//!
//! // The folder of the document is its state. A watcher would launch the agent now.
//! assert!(mailbox.document(Folder::Answered, &workflow).exists());
//! # Ok(())
//! # }
//! ```
//!
//! # How it works
//! ```text
//! pending/ID.json ── answer ──▶ answered/ID.json ── claim ──▶ running/ID.QID.json ── delivered ──▶ closed/ID.QID.json
//!        └── cancel, expire, supersede ──▶ closed/                    └── attempts used up ──▶ parked/ ── retry ──▶ running/
//! ```
//!
//! - The folder a file lies in is its state. One atomic rename or link that refuses to replace is the transition.
//! - A new file is written under a temporary name in the same folder, synced, and then given its name; then the folder is synced.
//!   Success is reported only after the last sync. [`disk`] does this; nothing else writes to the mailbox.
//! - File events are hints; the folder is the truth.
//! - A process is alive if it holds its `flock`. A pid proves nothing.
//!
//! The rooms, from the top floor down; an arrow only points down:
//! [`surface`] → [`watch`], [`gc`], [`peers`] → [`news`], [`chain`] → [`run`] → [`agent`], [`config`], [`mailbox`] → [`disk`] → [`platform`], [`document`], [`id`], [`time`],
//! [`text`], [`spelling`], [`untrusted`], [`error`](mod@error).
//!
//! # Limitations
//! One machine and one user: the mailbox lies on a filesystem with working `rename` and `flock`, and belongs to the user who runs every
//! program. The tests run on Linux; [`platform::weaker`] names what macOS promises less.

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

pub mod address;
pub mod chain;
pub mod disk;
pub mod document;
pub mod error;
pub mod id;
pub mod mailbox;
pub mod platform;
pub mod spelling;
pub mod text;
#[cfg(feature = "relaunch")]
pub mod thread;
pub mod time;
pub mod untrusted;

#[cfg(feature = "relaunch")]
pub mod agent;
#[cfg(feature = "relaunch")]
pub mod config;
#[cfg(feature = "relaunch")]
pub mod gc;
#[cfg(feature = "relaunch")]
pub mod log;
#[cfg(feature = "relaunch")]
pub mod news;
#[cfg(feature = "relaunch")]
mod patient_stderr;
#[cfg(feature = "askbox")]
pub mod peers;
#[cfg(feature = "relaunch")]
pub mod run;
#[cfg(feature = "sync")]
pub mod sync;
#[cfg(feature = "relaunch")]
pub mod watch;

pub mod surface;

pub use error::{Error, Result};

/// musl's own allocator asks the kernel for most allocations, which costs a small program more than its work.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;
