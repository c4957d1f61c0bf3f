//! The hooks that end an agent's turn at a tool boundary, given to it with `--settings`.

use std::path::Path;

use serde_json::Value;

use crate::run::supervise::stop::stop_request;
use crate::text::shell_quote;

/// The reason that the agent reads when a tool call is refused because the run is to stop.
pub(crate) const REFUSAL: &str = "This run is being stopped: call no more tools; your work so far is kept and can be continued.";

/// The settings, as JSON, for the attempt in `folder`. Once `stop.json` exists there, the hooks refuse new tool calls, and end the turn
/// after the calls in flight. Both are needed: `continue: false` of PostToolBatch keeps the results of those calls, and a refusal
/// alone would let the model go on writing (measured on Claude Code 2.1.330).
#[must_use]
pub fn settings(folder: &Path) -> String {
    let file = shell_quote(&stop_request::path(folder).display().to_string());
    let when_asked = |answer: &str| {
        let command = format!("if [ -e {file} ]; then printf %s {}; fi", shell_quote(answer));
        format!(r#"[{{"hooks":[{{"type":"command","command":{}}}]}}]"#, Value::from(command))
    };
    let refusal = format!(
        r#"{{"hookSpecificOutput":{{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":{}}}}}"#,
        Value::from(REFUSAL)
    );
    let end = r#"{"continue":false,"stopReason":"stopped by askbox"}"#;
    format!(r#"{{"hooks":{{"PreToolUse":{},"PostToolBatch":{}}}}}"#, when_asked(&refusal), when_asked(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hooks_print_nothing_until_there_is_a_request() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("it's $(here)");
        std::fs::create_dir(&folder).unwrap();
        let hooks: Value = serde_json::from_str(&settings(&folder)).unwrap();
        let say = |event: &str| {
            let command = hooks["hooks"][event][0]["hooks"][0]["command"].as_str().unwrap();
            let output = std::process::Command::new("/bin/sh").args(["-c", command]).output().unwrap();
            String::from_utf8(output.stdout).unwrap()
        };
        assert_eq!((say("PreToolUse"), say("PostToolBatch")), (String::new(), String::new()));
        stop_request::ensure(&folder, "test").unwrap();
        assert_eq!(serde_json::from_str::<Value>(&say("PostToolBatch")).unwrap()["continue"], false);
        let pre: Value = serde_json::from_str(&say("PreToolUse")).unwrap();
        assert_eq!(pre["hookSpecificOutput"]["permissionDecision"], "deny");
    }
}
