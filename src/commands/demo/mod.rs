//! `askbox demo`: the whole job, step by step, with the real programs in a temporary mailbox. Only the agent is a script.
//!
//! | file | idea |
//! |---|---|
//! | `story` | the steps, and the runs of the agent |
//! | `stage` | the temporary folder and its environment |
//! | `agent` | the scripted agent: its words, its commands and its protocol |
//! | `watcher_process` | the watcher of the demo |
//! | `narration` | the parts that the person sees, and the person's answer |

#![allow(clippy::disallowed_methods, reason = "the demo writes a temporary folder of its own, outside of any mailbox")]

pub mod agent;
mod narration;
mod stage;
mod story;
mod watcher_process;

pub use story::run;
