//! A filesystem mailbox through which coding agents ask their user, and a watcher that relaunches them with the answer.
//!
//! ```text
//! pending/ID.json ── answer ──▶ answered/ID.json ── claim ──▶ running/ID.QID.json ── delivered ──▶ closed/ID.QID.json
//!        └── cancel, expire, supersede ──▶ closed/                    └── attempts used up ──▶ parked/ ── retry ──▶ running/
//! ```
//!
//! - The folder a file lies in is its state; one atomic no-replace rename or link is the transition.
//! - New file: temporary name in the same folder, write, fsync, link or rename with no-replace, fsync of the folder.
//!   Success is reported only after the last fsync. [`disk`] does this; nothing else writes to the mailbox.
//! - Events are hints, the folder is the truth.
//! - Liveness is a held `flock`, never a PID.
//!
//! The rooms, from the top floor down; an arrow only ever points down:
//! [`surface`] → [`watch`], [`gc`] → [`chain`] → [`run`], [`agent`] → [`mailbox`] → [`disk`], [`id`].
//!
//! # Limitations
//! One machine, one user: the mailbox lies on a filesystem whose `rename` and `flock` work, and belongs to the user who runs every
//! program. Linux is what the tests run on; process recovery reads `/proc`.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

pub mod chain;
pub mod disk;
pub mod document;
pub mod error;
pub mod id;
pub mod mailbox;
pub mod text;
pub mod time;

#[cfg(feature = "relaunch")]
pub mod agent;
#[cfg(feature = "relaunch")]
pub mod config;
#[cfg(feature = "relaunch")]
pub mod gc;
#[cfg(feature = "relaunch")]
pub mod log;
#[cfg(feature = "relaunch")]
pub mod run;
#[cfg(feature = "relaunch")]
pub mod watch;

pub mod surface;

pub use error::{Error, Result};

/// musl's own allocator asks the kernel for most allocations, which costs a small program more than its work.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;
