//! The credentials that a shell has and a service lacks. They are never copied into the service's file: the person puts them into a file
//! of their own, which the service reads.

use std::path::{Path, PathBuf};

use crate::config;
use crate::platform::means::{SERVICE_MANAGER, ServiceManager};
use crate::surface::program;
use crate::text;

/// Variables (or, with a final `_`, their prefixes) that say how `claude` reaches its API.
const NAMES: [&str; 5] = ["ANTHROPIC_", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_USE_", "CLAUDE_CODE_SKIP_", "CLAUDE_CONFIG_DIR"];
/// The same for the clouds, which count only with a variable `CLAUDE_CODE_USE_…`.
const CLOUDS: [&str; 3] = ["AWS_", "GOOGLE_", "CLOUD_ML_"];

/// The file beside the configuration that the service reads: `service.env`.
pub(in crate::surface::askbox) fn file() -> Option<PathBuf> {
    let path = config::location()?.with_file_name("service.env");
    std::path::absolute(path).ok()
}

/// Says which of this shell's variables the service does not get, and how it gets them.
pub(in crate::surface::askbox) fn warn(file: Option<&Path>, service: &Path) {
    let known = file.and_then(|f| std::fs::read_to_string(f).ok()).unwrap_or_default();
    let is_known = |name: &String| known.lines().any(|line| line.strip_prefix(name.as_str()).is_some_and(|rest| rest.starts_with('=')));
    let missing: Vec<String> = credentials().into_iter().filter(|name| !is_known(name)).collect();
    if missing.is_empty() {
        return;
    }
    program::say(&format!("warning: the service does not get these variables of this shell: {}\n", missing.join(", ")));
    match file {
        Some(file) if SERVICE_MANAGER == ServiceManager::Systemd => {
            let (file, names) = (text::path_word(file), missing.join("|"));
            program::say(&format!("hint: it reads {file}; write them there with: (umask 077; env | grep -E '^({names})=' >> {file})\n"));
        }
        _ => program::say(&format!("hint: add them to EnvironmentVariables in {0}, and then: chmod 600 {0}\n", text::path_word(service))),
    }
}

/// The names of this shell's credentials, in their order.
fn credentials() -> Vec<String> {
    let set = || std::env::vars_os().filter(|(_, value)| !value.is_empty()).filter_map(|(name, _)| name.into_string().ok());
    let is_among = |names: &[&str], name: &str| names.iter().any(|n| if n.ends_with('_') { name.starts_with(n) } else { name == *n });
    let in_cloud = set().any(|name| name.starts_with("CLAUDE_CODE_USE_"));
    // The name goes into a command.
    let is_plain = |name: &String| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let mut found: Vec<String> =
        set().filter(is_plain).filter(|name| is_among(&NAMES, name) || (in_cloud && is_among(&CLOUDS, name))).collect();
    found.sort();
    found
}
