//! The hooks that a run's agent is given with `--settings`: two end its turn at a tool boundary, one takes its questions.

use std::path::Path;

use serde_json::{Value, json};

use crate::mailbox::documents::tool_call::ASK_USER_QUESTION;
use crate::run::supervise::stop::stop_request;
use crate::text::shell_quote;

/// The reason that the agent reads when a tool call is refused because the run is to stop.
pub(crate) const REFUSAL: &str = "This run is being stopped: call no more tools; your work so far is kept and can be continued.";

/// How long Claude Code waits for the hook that takes questions, in seconds.
pub const HOOK_SECONDS: u64 = 120;

/// The settings, as JSON, for the attempt in `folder`. Once `stop.json` exists there, the hooks refuse new tool calls, and end the turn
/// after the calls in flight. Both are needed: `continue: false` of PostToolBatch keeps the results of those calls, and a refusal
/// alone would let the model go on writing (measured on Claude Code 2.1.330). `askbox`: the program that takes the agent's questions.
#[must_use]
pub fn settings(folder: &Path, askbox: Option<&Path>) -> String {
    let file = shell_quote(&stop_request::path(folder).display().to_string());
    let when_asked = |answer: &str| {
        let command = format!("if [ -e {file} ]; then printf %s {}; fi", shell_quote(answer));
        json!({ "hooks": [{ "type": "command", "command": command }] })
    };
    let denied = json!({ "hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": REFUSAL });
    let refusal = json!({ "hookSpecificOutput": denied }).to_string();
    let end = r#"{"continue":false,"stopReason":"stopped by askbox"}"#;
    let mut before_tools = vec![when_asked(&refusal)];
    before_tools.extend(askbox.map(ask_user_question));
    json!({ "hooks": { "PreToolUse": before_tools, "PostToolBatch": [when_asked(end)] } }).to_string()
}

/// The hook that posts what the agent asks with AskUserQuestion. Its own time limit is shorter: a hook that Claude Code ends lets the call
/// through.
fn ask_user_question(askbox: &Path) -> Value {
    let command = format!("{} hook", shell_quote(&askbox.display().to_string()));
    json!({ "matcher": ASK_USER_QUESTION, "hooks": [{ "type": "command", "command": command, "timeout": HOOK_SECONDS }] })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hooks_print_nothing_until_there_is_a_request() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("it's $(here)");
        std::fs::create_dir(&folder).unwrap();
        let hooks: Value = serde_json::from_str(&settings(&folder, None)).unwrap();
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
