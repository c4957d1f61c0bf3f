//! What differs between operating systems. No file outside of this room asks which system it runs on, and none uses what only one of them has.
//!
//! | file | idea |
//! |---|---|
//! | `files` | looking at a file without opening it, lookups that follow no link, FIFOs, syncs |
//! | `handle` | a process that is held, so that a signal never reaches another one with its pid |
//! | `processes` | all processes, their parents, owners and environments |
//! | `ancestors` | the processes above this one, looked at with few system calls |
//! | `kinship` | orphans, and what happens to a child when its parent dies |
//! | `ancestry` | what is above this process: a run, an agent, or neither |
//! | `means` | the programs that show a notification, and that keep a service running |
//! | [`weaker`] | the promises that a system keeps less well, in words |
//!
//! `linux` and `macos` have the same functions; one of the two is compiled.

pub(crate) mod ancestry;
#[cfg(feature = "relaunch")]
mod handle;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "macos")]
mod macos;
#[cfg(feature = "relaunch")]
pub(crate) mod means;
#[cfg(feature = "relaunch")]
pub mod weaker;

#[cfg(target_os = "linux")]
use linux as system;
#[cfg(target_os = "macos")]
use macos as system;

pub(crate) use system::files;
#[cfg(feature = "relaunch")]
pub(crate) use system::{ancestors, kinship, processes};

#[cfg(feature = "relaunch")]
pub use handle::ProcessHandle;

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
compile_error!("askbox knows Linux and macOS; another system needs a folder of its own in src/platform");
