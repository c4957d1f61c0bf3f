//! How `claude` is called. Everything here is grounded on Claude Code 2.1.330; `versions` says what older ones lack.
//!
//! - `invocation`: the command line and the environment of a launch.
//! - `environment`: the variables of `claude`.
//! - `permissions`: rules for what an agent may do without being asked.
//! - `input`: the lines that an agent reads on stdin.
//! - `session`: where the transcript of a session lies.
//! - `versions`: the tested versions, and what older ones lack.

mod environment;
mod input;
mod invocation;
mod permissions;
mod session;
mod versions;

pub use environment::{CONFIG_DIR, config_dir, is_inherited_from_agent};
pub use input::{
    elicitation_accept, elicitation_cancel, elicitation_decline, initialize, interrupt, permission_allow, permission_allow_with,
    permission_deny, permission_deny_and_end, user_message,
};
pub use invocation::Invocation;
pub use permissions::{DEFAULT_ALLOWED_TOOLS, PERMISSION_MODES, may_read, rule_for};
pub use session::transcript_exists;
pub use versions::{TESTED, Version};
