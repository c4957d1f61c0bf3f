//! How `claude` is called. Everything here was tested with Claude Code 2.1.332. `versions` says what older versions lack.
//!
//! | file | idea |
//! |---|---|
//! | `invocation` | the command line and the environment of a launch |
//! | `permissions` | rules for what an agent may do without being asked |
//! | `settings_path` | the PATH that settings give to an agent |
//! | `input` | the lines that an agent reads on stdin |
//! | `versions` | the tested versions, and what older ones lack |

mod input;
mod invocation;
mod permissions;
mod settings_path;
mod versions;

pub use input::{
    elicitation_reply, initialize, interrupt, permission_allow, permission_allow_with, permission_deny, permission_deny_and_end,
    unknown_request, user_message,
};
pub use invocation::{CONFIG_DIR, Invocation, config_dir, is_inherited_from_agent};
pub use permissions::{DEFAULT_ALLOWED_TOOLS, PERMISSION_MODES, may_read, rule_for};
pub use settings_path::SettingsPath;
pub use versions::{TESTED, Version};
