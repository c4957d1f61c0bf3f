//! The variables that tell `claude` where its settings lie, or that it runs inside of another agent.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

/// The variable that names the folder of settings and sessions.
pub const CONFIG_DIR: &str = "CLAUDE_CONFIG_DIR";

/// The folder of settings and sessions: `$CLAUDE_CONFIG_DIR`, else `$HOME/.claude`; `None` if both variables are missing or empty.
pub fn config_dir(env: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let set = |name| env(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set(CONFIG_DIR).or_else(|| set("HOME").map(|home| home.join(".claude")))
}

/// Variables (or their prefixes) among `CLAUDE*` that the operator sets: settings, credentials, switches.
const SET_BY_OPERATOR: [&str; 7] = [
    CONFIG_DIR,
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CODE_USE_",
    "CLAUDE_CODE_SKIP_",
    "CLAUDE_CODE_DISABLE_",
    "CLAUDE_CODE_MAX_",
    "CLAUDE_CODE_RETRY_",
];

/// Whether an outer agent sets this variable for the programs that it runs: `AI_AGENT`, and `CLAUDE*` except for the variables that
/// the operator sets.
pub fn is_inherited_from_agent(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    name == b"AI_AGENT" || (name.starts_with(b"CLAUDE") && !SET_BY_OPERATOR.iter().any(|own| name.starts_with(own.as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_config_folder_is_the_variable_or_the_default_in_the_home() {
        let env = |vars: &'static [(&str, &str)]| move |name: &str| vars.iter().find(|(n, _)| *n == name).map(|(_, v)| OsString::from(v));
        let both = env(&[("CLAUDE_CONFIG_DIR", "/c"), ("HOME", "/h")]);
        assert_eq!(config_dir(both), Some("/c".into()));
        let empty = env(&[("CLAUDE_CONFIG_DIR", ""), ("HOME", "/h")]);
        assert_eq!(config_dir(empty), Some("/h/.claude".into()));
        assert_eq!(config_dir(env(&[])), None);
    }
}
