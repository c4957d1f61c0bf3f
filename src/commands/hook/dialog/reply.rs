//! The answer as the decision that Claude Code reads. Claude Code ignores a decision that it does not understand, and says nothing. So
//! each decision is checked before it is printed.

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::commands::hook::event::PermissionRequest;
use askbox_mailbox::documents::fields::live::{EXIT_PLAN_MODE, Mode, Offered};
use askbox_mailbox::documents::fields::tool_call::ASK_USER_QUESTION;

/// The decision about a dialog.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "behavior", rename_all = "lowercase", rename_all_fields = "camelCase")]
pub(super) enum Reply {
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

impl Reply {
    /// The call is made with this input, and the session gets the permission that the person chose beside it.
    pub(super) fn allow(updated_input: Map<String, Value>, offered: Option<&Offered>) -> Self {
        Self::Allow { updated_input, updated_permissions: offered.into_iter().map(permission).collect() }
    }

    /// The output of the hook, or the reason why it would be no decision about this dialog.
    pub(super) fn output(&self, event: &PermissionRequest) -> Result<Value, &'static str> {
        match self {
            Self::Deny { message, .. } if message.trim().is_empty() => return Err("it has no words for the model"),
            Self::Deny { .. } => {}
            Self::Allow { updated_input, .. } => match event.tool_name.as_str() {
                ASK_USER_QUESTION => answers(updated_input, &event.tool_input)?,
                EXIT_PLAN_MODE if event.tool_input.contains_key("plan") && !updated_input.get("plan").is_some_and(Value::is_string) => {
                    return Err("its plan is not a text");
                }
                _ if updated_input.keys().any(|name| !event.tool_input.contains_key(name)) => {
                    return Err("its input has a field that the call does not have");
                }
                _ => {}
            },
        }
        let decision = serde_json::to_value(self).map_err(|_| "it cannot be written as JSON")?;
        Ok(json!({ "hookSpecificOutput": { "hookEventName": "PermissionRequest", "decision": decision } }))
    }
}

/// Checks that the input holds an answer to each question of the call. Without answers, Claude Code would tell the model that the user
/// did not answer.
fn answers(given: &Map<String, Value>, asked: &Map<String, Value>) -> Result<(), &'static str> {
    if given.get("questions") != asked.get("questions") {
        return Err("its questions are not those of the dialog");
    }
    let questions = asked.get("questions").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let is_answered = |question: &Value| {
        let text = question["question"].as_str().unwrap_or_default();
        given.get("answers").is_some_and(|answers| answers[text].as_str().is_some_and(|answer| !answer.trim().is_empty()))
    };
    if questions.is_empty() || !questions.iter().all(is_answered) {
        return Err("a question of the dialog has no answer");
    }
    Ok(())
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

    fn allow(input: Value) -> Reply {
        Reply::allow(input.as_object().unwrap().clone(), None)
    }

    #[test]
    fn an_allowance_has_the_input_and_no_null() {
        let event = event("Bash", json!({"command": "ls"}));
        let output = allow(json!({"command": "ls"})).output(&event).unwrap();
        let decision = json!({"behavior": "allow", "updatedInput": {"command": "ls"}});
        assert_eq!(output, json!({"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": decision}}));
        let offered = Offered::Mode(Mode::AcceptEdits);
        let output = Reply::allow(Map::new(), Some(&offered)).output(&event).unwrap();
        let update = json!([{"type": "setMode", "mode": "acceptEdits", "destination": "session"}]);
        assert_eq!(output["hookSpecificOutput"]["decision"]["updatedPermissions"], update);
    }

    #[test]
    fn a_decision_that_claude_would_ignore_is_not_printed() {
        let bash = event("Bash", json!({"command": "ls"}));
        assert!(Reply::Deny { message: " ".into(), interrupt: false }.output(&bash).is_err());
        assert!(allow(json!({"command": "ls", "cmd": "rm"})).output(&bash).is_err());
        assert!(allow(json!({})).output(&event("ExitPlanMode", json!({"plan": "x"}))).is_err());
    }

    #[test]
    fn an_echo_without_answers_would_consume_the_question() {
        let questions = json!([{"question": "Which?"}, {"question": "When?"}]);
        let asked = event("AskUserQuestion", json!({"questions": questions}));
        for answers in [json!(null), json!({}), json!({"Which?": "a"}), json!({"Which?": "a", "When?": " "})] {
            assert!(allow(json!({"questions": questions, "answers": answers})).output(&asked).is_err(), "{answers}");
        }
        assert!(allow(json!({"questions": questions})).output(&asked).is_err());
        assert!(allow(json!({"questions": [], "answers": {"Which?": "a", "When?": "b"}})).output(&asked).is_err());
        assert!(allow(json!({"questions": questions, "answers": {"Which?": "a", "When?": "b"}})).output(&asked).is_ok());
    }
}
