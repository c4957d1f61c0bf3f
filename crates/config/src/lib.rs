//! The operator's configuration. It alone decides what askbox executes, and a question never does.
//!
//! Each key is described once, in the doc comment of its field. The file that `askbox init` writes, the table in
//! `docs/configuration.md` and the JSON Schema are made from these descriptions.
//!
//! | file | idea |
//! |---|---|
//! | `section` | the macro that defines a section, and the type of a key |
//! | `sections` | the sections, one file each |
//! | `tool_rule` | rules that name calls of tools |
//! | `shell_commands` | the commands that a line of shell could run |
//! | `workflow_pattern` | patterns of workflow ids |
//! | `settings` | all sections together, with their keys, defaults and checks |
//! | `parse` | finds the file, and reads its text |
//! | `template` | the file that `askbox init` writes |

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

mod parse;
mod section;
mod sections;
mod settings;
mod shell_commands;
mod template;
mod tool_rule;
mod workflow_pattern;

pub use parse::{Loaded, MAX_CONFIG, load, load_file, location, parse};
pub use section::{Key, Section};
pub use sections::answers::{Answers, Way};
pub use sections::approvals::Approvals;
pub use sections::fence::{Fence, FenceMode};
pub use sections::limits::{Chain, Limits};
pub use sections::live::Live;
pub use sections::notify::{Event, LiveNews, Means, Notify, QuietHours, Target, targets, topic};
pub use sections::peers::{PeerConfig, Sync};
pub use sections::relaunching::{Mode, PromptTemplate, Relaunch};
pub use sections::runners::{EXEC, Runner, RunnerKind, Runners};
pub use sections::traces::Traces;
pub use sections::upkeep::{ArchiveAfter, History, Keep, Mcp, Metrics};
pub use sections::web::{Listen, Web};
pub use settings::{Config, SECTIONS, default_of, keys};
pub use shell_commands::surely;
pub use template::template;
pub use tool_rule::ToolRule;
pub use workflow_pattern::WorkflowPattern;
