//! `askbox agents`: the agents that the user and the project have defined in `.claude/agents/**/*.md`.
//!
//! | file | idea |
//! |---|---|
//! | [`command`] | lists them, and the files that cannot be read |
//! | [`catalog`] | finds the files and decides which agent of one name counts |
//! | [`agent_file`] | reads one file, which has front matter and a prompt |
//! | `front_matter` | reads the front matter, in the two ways in which claude does |
//!
//! The folders, their precedence and what is read of a file are the same as in claude 2.1.332. A test compares the result with the real
//! one, also for files that are not valid YAML. A file that claude does not read either is reported with its line.
//! Only `ask-agent` depends on this list: before a run, claude itself is asked if the agent exists (`run/supervise/start_agent`).
//!
//! The list leaves out built-in agents, agents of plugins, and agents that the machine's administrator has defined.

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

pub mod agent_file;
pub mod catalog;
pub mod command;
mod front_matter;
