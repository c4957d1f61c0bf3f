//! What agents are told about askbox.
//!
//! | file | idea |
//! |---|---|
//! | `agents` | `askbox agents`: the agents that are defined for claude |
//! | `claude_md` | the section for CLAUDE.md |

pub mod agents;
pub mod claude_md;
