//! The names of the tools. They are those of Claude Code, so agent files, hooks and rules mean the same here.

pub(crate) const BASH: &str = "Bash";
pub(crate) const READ: &str = "Read";
pub(crate) const WRITE: &str = "Write";
pub(crate) const EDIT: &str = "Edit";
pub(crate) const GLOB: &str = "Glob";
pub(crate) const TODO: &str = "TodoWrite";
pub(crate) const TASK: &str = "Task";
pub(crate) const ASK_USER: &str = "AskUserQuestion";

/// The name of the subagent without a definition.
pub(crate) const GENERAL: &str = "general-purpose";

/// True if a second call would do something else than the first one. Such a call is noted before it is made.
pub(crate) fn must_not_be_repeated(tool: &str) -> bool {
    matches!(tool, BASH | EDIT)
}
