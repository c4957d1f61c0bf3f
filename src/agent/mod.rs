//! How an agent program is called and how its output is read.
//!
//! - [`claude`]: how `claude` is called. [`transcript`]: what a session's transcript says.
//! - [`stream`]: what the output of `claude` says. [`events`]: the events that a run records, the same for every agent program.
//! - [`chain_signals`]: the lines by which agents of a chain tell each other that they wait.
//! - `definitions`: the agents that are defined in files.

pub mod chain_signals;
pub mod claude;
#[cfg(feature = "askbox")]
pub mod definitions;
pub mod events;
pub mod stream;
pub mod transcript;
