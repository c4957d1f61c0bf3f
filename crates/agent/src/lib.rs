//! Calls an agent program and reads its output.
//!
//! | file | idea |
//! |---|---|
//! | [`claude`] | calls `claude` |
//! | [`caller_env`] | variables that a caller, such as a git hook, meant for itself |
//! | [`transcript`] | finds and reads a session's transcript |
//! | [`conversation`] | the end of a conversation, for a person who reads along |
//! | [`prompt_receipt`] | how far words from outside have come in a session |
//! | [`session_size`] | how large a session is, and whether its prompt cache is alive |
//! | [`rejected_calls`] | the tool calls that an interrupt rejected in the user's name |
//! | [`subagents`] | the files about the subagents inside a session |
//! | [`dialog`] | the dialog of an attended session, and the signs of its end |
//! | [`sessions`] | the sessions on this machine, of each agent program that tells |
//! | [`stream`] | reads the output of `claude` |
//! | [`presets`] | what is known about each agent that speaks the Agent Client Protocol |
//! | [`program`] | reads the output of any other program |
//! | [`output`] | reads the output of any of them, and of an adapter: a program of askbox that talks with an agent in the agent's own protocol |
//! | [`events`] | the events that a run records, the same for every agent program |
//! | [`chain_signals`] | the lines by which agents of a chain say that they wait |

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

pub mod caller_env;
pub mod chain_signals;
pub mod claude;
pub mod conversation;
pub mod dialog;
pub mod events;
pub mod output;
pub mod presets;
pub mod program;
pub mod prompt_receipt;
pub mod rejected_calls;
pub mod session_size;
pub mod sessions;
pub mod stream;
pub mod subagents;
pub mod transcript;

pub use events::{Event, EventKind};
pub use stream::StreamItem;
