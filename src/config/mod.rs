//! The operator's configuration. What askbox executes comes from here alone, never from a question.
//!
//! Each key is described once, in the doc comment of its field. The file that `askbox init` writes, the table in
//! `docs/guide-operator.md` and the JSON Schema are made from these descriptions.
//!
//! - `section`: the macro that defines a section, and the type of a key.
//! - `relaunching`, `runners`, `answers`, `approvals`, `limits`, `notify`, `peers`, `sync`, `upkeep`, `web`: the sections. `event`, `quiet_hours`: values of `notify`.
//! - `tool_rule`, `shell_commands`: a rule that names tool calls; which commands a line of shell could run.
//! - `settings`: all sections together, the list of keys, and their defaults.
//! - `prompt_template`: the operator's own first message, checked when it is read.
//! - `load`, `parse`, `values`: find the file, read its text, check the values.
//! - `template`: the file that `askbox init` writes.

mod answers;
mod approvals;
mod event;
mod limits;
mod load;
mod notify;
mod parse;
mod peers;
mod prompt_template;
mod quiet_hours;
mod relaunching;
mod runners;
mod section;
mod settings;
mod shell_commands;
mod sync;
mod template;
mod tool_rule;
mod upkeep;
mod values;
mod web;

pub use answers::{Answers, Way};
pub use approvals::Approvals;
pub use event::Event;
pub use limits::{Chain, Limits};
pub use load::{MAX_CONFIG, load, location};
pub use notify::{COMMAND, Means, Notify, Target, targets, topic};
pub use parse::{Loaded, parse};
pub use peers::PeerConfig;
pub use prompt_template::PromptTemplate;
pub use quiet_hours::QuietHours;
pub use relaunching::{Mode, Relaunch};
pub use runners::{Runner, Runners};
pub use section::{Key, Section};
pub use settings::{Config, SECTIONS, default_of, keys};
pub use sync::Sync;
pub use template::template;
pub use tool_rule::ToolRule;
pub use upkeep::{History, Keep, Log, LogFormat, Mcp, Metrics};
pub use web::{Listen, Web};
