//! The reply as the decision that Claude Code reads. Claude Code ignores a decision that it does not understand, and says nothing. So
//! each decision is checked before it is printed.

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::commands::hook::event::PermissionRequest;
use askbox_mailbox::documents::fields::live::{EXIT_PLAN_MODE, Mode, Offered};
use askbox_mailbox::documents::fields::tool_call::ASK_USER_QUESTION;
use askbox_run::Reply;

/// The decision about a dialog.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "behavior", rename_all = "lowercase", rename_all_fields = "camelCase")]
enum DialogDecision {
    /// The call is made with this input. Claude Code wants the input even if it has not changed: without it, a dialog with questions or a
    /// plan stays open.
    Allow {
        updated_input: Map<String, Value>,
        /// Permissions for the rest of the session.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        updated_permissions: Vec<Value>,
    },
    /// The call is not made, and the model reads this. With `interrupt`, the session's turn ends, and the model reads nothing.
    Deny {
        message: String,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        interrupt: bool,
    },
}

/// The output of the hook, or the reason why it would be no decision about this dialog.
pub(super) fn output(event: &PermissionRequest, reply: Reply) -> Result<Value, &'static str> {
    let decision = match reply {
        Reply::Allow { input, offered } => {
            DialogDecision::Allow { updated_input: input, updated_permissions: offered.iter().map(permission).collect() }
        }
        Reply::Answers(answers) => DialogDecision::Allow { updated_input: answers.filled, updated_permissions: Vec::new() },
        Reply::Refuse { words, .. } => DialogDecision::Deny { message: words, interrupt: false },
        Reply::Stop { words } => DialogDecision::Deny { message: words, interrupt: true },
        Reply::Form(_) => return Err("it is no form"),
    };
    match &decision {
        DialogDecision::Deny { message, .. } if message.trim().is_empty() => return Err("it has no words for the model"),
        DialogDecision::Deny { .. } => {}
        DialogDecision::Allow { updated_input, .. } => match event.tool_name.as_str() {
            ASK_USER_QUESTION => {}
            EXIT_PLAN_MODE if event.tool_input.contains_key("plan") && !updated_input.get("plan").is_some_and(Value::is_string) => {
                return Err("its plan is not a text");
            }
            _ if updated_input.keys().any(|name| !event.tool_input.contains_key(name)) => {
                return Err("its input has a field that the call does not have");
            }
            _ => {}
        },
    }
    let decision = serde_json::to_value(decision).map_err(|_| "it cannot be written as JSON")?;
    Ok(json!({ "hookSpecificOutput": { "hookEventName": "PermissionRequest", "decision": decision } }))
}

/// A permission in Claude Code's spelling. It counts for the session only, and is written into no file.
fn permission(offered: &Offered) -> Value {
    match offered {
        Offered::Rules(rules) => {
            let rules: Vec<Value> = rules
                .iter()
                .map(|rule| match &rule.content {
                    Some(content) => json!({ "toolName": rule.tool, "ruleContent": content }),
                    None => json!({ "toolName": rule.tool }),
                })
                .collect();
            json!({ "type": "addRules", "rules": rules, "behavior": "allow", "destination": "session" })
        }
        Offered::Folders(folders) => json!({ "type": "addDirectories", "directories": folders, "destination": "session" }),
        Offered::Mode(mode) => {
            let mode = match mode {
                Mode::AcceptEdits => "acceptEdits",
                Mode::Auto => "auto",
            };
            json!({ "type": "setMode", "mode": mode, "destination": "session" })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(tool: &str, input: Value) -> PermissionRequest {
        let event = json!({
            "session_id": "15c96f27-091a-5dc1-bcce-0d2e49721bc0", "transcript_path": "/c/projects/p/s.jsonl", "cwd": "/w",
            "tool_name": tool, "tool_input": input,
        });
        serde_json::from_value(event).unwrap()
    }

    fn allow(input: Value, offered: Option<Offered>) -> Reply {
        Reply::Allow { input: input.as_object().unwrap().clone(), offered }
    }

    #[test]
    fn an_allowance_has_the_input_and_no_null() {
        let event = event("Bash", json!({"command": "ls"}));
        let output_of = |offered| output(&event, allow(json!({"command": "ls"}), offered)).unwrap();
        let decision = json!({"behavior": "allow", "updatedInput": {"command": "ls"}});
        assert_eq!(output_of(None), json!({"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": decision}}));
        let update = json!([{"type": "setMode", "mode": "acceptEdits", "destination": "session"}]);
        let offered = output_of(Some(Offered::Mode(Mode::AcceptEdits)));
        assert_eq!(offered["hookSpecificOutput"]["decision"]["updatedPermissions"], update);
    }

    #[test]
    fn a_decision_that_claude_would_ignore_is_not_printed() {
        let bash = event("Bash", json!({"command": "ls"}));
        assert!(output(&bash, Reply::Refuse { words: " ".into(), has_reason: false }).is_err());
        assert!(output(&bash, allow(json!({"command": "ls", "cmd": "rm"}), None)).is_err());
        assert!(output(&event("ExitPlanMode", json!({"plan": "x"})), allow(json!({}), None)).is_err());
    }
}
