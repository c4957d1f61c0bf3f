//! The agents that the user and the project have defined in `.claude/agents/**/*.md`, for `askbox agents`.
//!
//! - [`catalog`]: finds the files and decides which agent of one name counts.
//! - `project_folders`: the `.claude/agents` folders of a project.
//! - [`agent_file`]: reads one file: YAML front matter and a prompt.
//!
//! Folders and precedence are those of claude 2.1.330; a test compares them with the real one. Files are read strictly: claude accepts some
//! front matter that is not valid YAML, and such a file is reported here as one that cannot be read. Nothing in askbox depends on this
//! list: whether a run's agent exists is asked of claude itself (`run/process/role`).
//!
//! Not listed: built-in agents, agents of plugins, and those that the machine's administrator has defined.

pub mod agent_file;
pub mod catalog;
mod project_folders;
