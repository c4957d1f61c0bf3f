//! `askbox demo`: the whole job, step by step, with the real programs in a temporary mailbox. Only the agent is a script.
//!
//! - `story`: the steps
//! - `stage`: the temporary folder and its environment
//! - `script`, `agent`: what the scripted agent says and does, and the protocol by which it does so
//! - `agent_runs`, `watcher_process`: the processes of the demo
//! - `ask_person`, `narration`: what the person sees

#![allow(clippy::disallowed_methods, reason = "the demo writes a temporary folder of its own, outside of any mailbox")]

pub mod agent;
mod agent_runs;
mod ask_person;
mod narration;
mod script;
mod stage;
mod story;
mod watcher_process;

pub use story::run;
