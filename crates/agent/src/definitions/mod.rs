//! The agents that the user and the project have defined in `.claude/agents/**/*.md`, for `askbox agents`.
//!
//! - [`catalog`]: finds the files and decides which agent of one name counts.
//! - [`agent_file`]: reads one file, which has YAML front matter and a prompt.
//!
//! The folders and their precedence are the same as in claude 2.1.332; a test compares the result with the real one. Files are read
//! strictly: claude accepts some front matter that is not valid YAML, and such a file is reported here as one that cannot be read.
//! Nothing in askbox depends on this list: before a run, claude itself is asked if the agent exists (`run/supervise/start_agent`).
//!
//! The list leaves out built-in agents, agents of plugins, and agents that the machine's administrator has defined.

pub mod agent_file;
pub mod catalog;
