//! The section of a CLAUDE.md that teaches agents to ask, to answer, and to start each other.

/// The section for `askbox init --claude-md >> CLAUDE.md`. The tests let a real agent type its `bash` blocks.
pub const SECTION: &str = include_str!("claude_md.md");
