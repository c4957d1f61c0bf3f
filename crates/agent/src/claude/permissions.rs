//! Permission rules: what an agent may do without asking.

use std::path::Path;

use serde_json::Value;

/// Rules for every agent: it may ask a question, and save its state. For chains, the operator adds `Bash(relaunch spawn:*)`.
pub const DEFAULT_ALLOWED_TOOLS: [&str; 2] = ["Bash(ask-post:*)", "Bash(checkpoint:*)"];

/// The possible values of `--permission-mode`.
pub const PERMISSION_MODES: [&str; 7] = ["acceptEdits", "auto", "bypassPermissions", "default", "dontAsk", "manual", "plan"];

/// The rule that lets an agent read this one file. `None` if the path has characters with a special meaning in rules.
pub fn may_read(path: &Path) -> Option<String> {
    let plain = |c: char| c.is_alphanumeric() || "/._-+@ ".contains(c);
    let path = path.to_str().filter(|p| p.starts_with('/') && p.chars().all(plain))?;
    Some(format!("Read(/{path})"))
}

/// The rule that would permit a call of this kind: for Bash, every call of the command's program. `None` if the call does not name its
/// program plainly.
pub fn rule_for(tool: &str, input: &Value) -> Option<String> {
    let is_plain = |word: &&str| !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "/._+-".contains(c));
    let tool = Some(tool).filter(|tool| tool.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-') && !tool.is_empty())?;
    if tool != "Bash" {
        return Some(tool.to_owned());
    }
    let program = input.get("command")?.as_str()?.split_whitespace().next().filter(is_plain)?;
    Some(format!("Bash({program}:*)"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_named_only_for_a_call_that_names_its_program() {
        let bash = |command: &str| rule_for("Bash", &serde_json::json!({ "command": command }));
        assert_eq!(bash("npm test -- --all").as_deref(), Some("Bash(npm:*)"));
        assert_eq!(bash("./run.sh").as_deref(), Some("Bash(./run.sh:*)"));
        for command in ["", "$(x) y", "X=1 npm test", "`x`", "'npm' test", "(npm)"] {
            assert_eq!(bash(command), None, "{command}");
        }
        assert_eq!(rule_for("Write", &Value::Null).as_deref(), Some("Write"));
        assert_eq!(rule_for("mcp__db__query", &Value::Null).as_deref(), Some("mcp__db__query"));
        assert_eq!(rule_for("a b", &Value::Null), None);
    }

    #[test]
    fn a_readable_file_is_named_so_that_no_other_is_meant() {
        assert_eq!(may_read(Path::new("/a b/c-1.json")).as_deref(), Some("Read(//a b/c-1.json)"));
        for path in ["a", "/a/*", "/a/**/b", "/a)b", "/a,b", "/a/[b]", "/a/!b", "/a/b?", "/a\\b"] {
            assert_eq!(may_read(Path::new(path)), None, "{path}");
        }
    }
}
