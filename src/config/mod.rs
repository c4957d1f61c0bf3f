//! The operator's configuration. What askbox executes comes from here alone, never from a question.
//!
//! Each key is described once, in the doc comment of its field. The file that `askbox init` writes, the table in
//! `docs/configuration.md` and the JSON Schema are made from these descriptions.
//!
//! - `section`: the macro that defines a section, and the type of a key.
//! - `sections`: the sections, one file each. `tool_rules`: rules that name calls of tools.
//! - `settings`: all sections together, the list of keys, and their defaults.
//! - `prompt_template`: the operator's own first message, checked when it is read.
//! - `load`, `parse`, `values`: find the file, read its text, check the values.
//! - `template`: the file that `askbox init` writes.

mod load;
mod parse;
mod prompt_template;
mod section;
mod sections;
mod settings;
mod template;
mod tool_rules;
mod values;

pub use load::{MAX_CONFIG, load, location};
pub use parse::{Loaded, parse};
pub use prompt_template::PromptTemplate;
pub use section::{Key, Section};
pub use sections::answers::{Answers, Way};
pub use sections::approvals::Approvals;
pub use sections::event::Event;
pub use sections::limits::{Chain, Limits};
pub use sections::notify::{COMMAND, Means, Notify, Target, targets, topic};
pub use sections::peers::PeerConfig;
pub use sections::quiet_hours::QuietHours;
pub use sections::relaunching::{Mode, Relaunch};
pub use sections::runners::{Runner, Runners};
pub use sections::sync::Sync;
pub use sections::upkeep::{History, Keep, Log, LogFormat, Mcp, Metrics};
pub use sections::web::{Listen, Web};
pub use settings::{Config, SECTIONS, default_of, keys};
pub use template::template;
pub use tool_rules::tool_rule::ToolRule;
