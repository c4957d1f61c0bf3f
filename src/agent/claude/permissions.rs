//! Permission rules: what an agent may do without being asked.

use std::path::Path;

/// Rules for every agent: it may ask, and save its state. For chains, the operator adds `Bash(relaunch spawn:*)`.
pub const DEFAULT_ALLOWED_TOOLS: [&str; 2] = ["Bash(ask-post:*)", "Bash(checkpoint:*)"];

/// The values that `--permission-mode` takes.
pub const PERMISSION_MODES: [&str; 7] = ["acceptEdits", "auto", "bypassPermissions", "default", "dontAsk", "manual", "plan"];

/// The rule that lets an agent read this one file; `None` if the path holds characters that mean more in a rule.
#[must_use]
pub fn may_read(path: &Path) -> Option<String> {
    let plain = |c: char| c.is_alphanumeric() || "/._-+@ ".contains(c);
    let path = path.to_str().filter(|p| p.starts_with('/') && p.chars().all(plain))?;
    Some(format!("Read(/{path})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_may_be_read_is_named_so_that_no_other_one_is_meant() {
        assert_eq!(may_read(Path::new("/a b/c-1.json")).as_deref(), Some("Read(//a b/c-1.json)"));
        for path in ["a", "/a/*", "/a/**/b", "/a)b", "/a,b", "/a/[b]", "/a/!b", "/a/b?", "/a\\b"] {
            assert_eq!(may_read(Path::new(path)), None, "{path}");
        }
    }
}
