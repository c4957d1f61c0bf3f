//! The differences between operating systems. No file outside of this module asks which system it runs on, or uses what only one
//! system has.
//!
//! | file | idea |
//! |---|---|
//! | `handle` | a handle of a process: a signal never reaches another process with the same pid |
//! | `ancestry` | what this process runs below: a run, an agent, or neither |
//! | `means` | the programs that show a notification and that keep a service running |
//! | [`weaker`] | the promises that a system keeps less well, in words |
//! | `linux`, `macos` | files, processes and ancestors of one system |
//!
//! `linux` and `macos` have the same functions. Only the one for the target system is compiled.

pub mod ancestry;
mod handle;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "macos")]
mod macos;
pub mod means;
pub mod weaker;

#[cfg(target_os = "linux")]
use linux as system;
#[cfg(target_os = "macos")]
use macos as system;

pub use system::files;
pub use system::{ancestors, processes};

pub use handle::{ProcessHandle, status_within};

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
compile_error!("askbox knows Linux and macOS; another system needs a folder of its own beside `linux`");
