//! The names of the tools. They are those of Claude Code, so agent files, hooks and rules mean the same here.

pub(crate) const BASH: &str = "Bash";
pub(crate) const READ: &str = "Read";
pub(crate) const WRITE: &str = "Write";
pub(crate) const EDIT: &str = "Edit";
pub(crate) const GLOB: &str = "Glob";
pub(crate) const GREP: &str = "Grep";
pub(crate) const TODO: &str = "TodoWrite";
pub(crate) const TASK: &str = "Task";
pub(crate) const ASK_USER: &str = "AskUserQuestion";

/// The name of the subagent without a definition.
pub(crate) const GENERAL: &str = "general-purpose";
