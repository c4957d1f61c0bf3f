//! The events of Gemini (measured with 0.61.0): `Notification` comes as the dialog opens, and `AfterTool` after the call that was allowed. No
//! and Esc have no event of their own, so the next event of the session ends its dialog.

use serde_json::Value;

use super::{Call, News, file, word};
use askbox_mailbox::dialogs::{self, Dialog};

/// The word for the tool of a dialog about a command.
const SHELL: &str = "shell";
/// The name of Gemini's own tool that runs commands.
const RUNS_COMMANDS: &str = "run_shell_command";

pub(super) fn read(event: &Value) -> Option<News> {
    match event["hook_event_name"].as_str()? {
        "Notification" if event["notification_type"] == "ToolPermission" => Some(opens(event)),
        "AfterTool" => {
            let command = word(&event["tool_input"], "command").filter(|_| event["tool_name"] == RUNS_COMMANDS);
            Some(News::EndsAll { after: Some(Call { command }) })
        }
        "SessionStart" | "SessionEnd" | "BeforeAgent" | "AfterAgent" => Some(News::EndsAll { after: None }),
        _ => None,
    }
}

fn opens(event: &Value) -> News {
    let details = &event["details"];
    let detail = |name| word(details, name);
    let (tool, asks) = match details["type"].as_str().unwrap_or_default() {
        "exec" => (SHELL.to_owned(), detail("command")),
        "edit" => ("edit".to_owned(), detail("filePath").or_else(|| detail("fileName")).map(|path| file(&path))),
        "mcp" => (detail("serverName").unwrap_or_default(), detail("toolDisplayName").or_else(|| detail("toolName"))),
        other => (other.to_owned(), detail("prompt").or_else(|| detail("title"))),
    };
    let asks = asks.or_else(|| word(event, "message")).unwrap_or_default();
    News::Opens { id: None, cwd: word(event, "cwd").unwrap_or_default(), tool, asks }
}

/// True if the dialog asked for this call. Another call of the same message may end while the dialog is open.
pub(super) fn was_for(dialog: &Dialog, call: &Call) -> bool {
    match &call.command {
        Some(command) => dialog.tool == SHELL && dialog.asks == dialogs::words(command),
        None => dialog.tool != SHELL,
    }
}

#[cfg(test)]
mod tests {
    use askbox_mailbox::dialogs::Program;
    use serde_json::json;

    use super::*;

    /// As Gemini wrote it, without the fields that are not read.
    fn notification(details: &Value) -> Value {
        json!({"session_id": "099dc370", "cwd": "/work/docs", "hook_event_name": "Notification", "notification_type": "ToolPermission",
            "message": "Tool Confirm Shell Command requires execution", "details": details})
    }

    #[test]
    fn a_dialog_of_gemini_opens_with_the_words_of_its_kind() {
        for (details, tool, asks) in [
            (json!({"type": "exec", "title": "Confirm Shell Command", "command": "touch f1", "rootCommand": "touch"}), "shell", "touch f1"),
            (json!({"type": "edit", "title": "Confirm Write", "fileName": "a.txt", "filePath": "/work/docs/a.txt"}), "edit", "a.txt"),
            (json!({"type": "mcp", "serverName": "box", "toolName": "t", "toolDisplayName": "T"}), "box", "T"),
            (json!({"type": "ask_user", "title": "Ask User"}), "ask_user", "Ask User"),
            (json!(null), "", "Tool Confirm Shell Command requires execution"),
        ] {
            let opens = News::Opens { id: None, cwd: "/work/docs".into(), tool: tool.into(), asks: asks.into() };
            assert_eq!(read(&notification(&details)), Some(opens), "{details}");
        }
    }

    #[test]
    fn each_later_event_of_a_gemini_session_ends_its_dialog() {
        for name in ["SessionStart", "SessionEnd", "BeforeAgent", "AfterAgent"] {
            assert_eq!(read(&json!({"hook_event_name": name})), Some(News::EndsAll { after: None }));
        }
        let after = |tool: &str, command: &str| match read(
            &json!({"hook_event_name": "AfterTool", "tool_name": tool, "tool_input": {"command": command}}),
        ) {
            Some(News::EndsAll { after: Some(call) }) => call,
            other => panic!("{other:?}"),
        };
        let dialog = |tool: &str, asks: &str| Dialog::new(Program::Gemini, "s", "/", tool, asks, None);
        let long = "echo 1\n".repeat(100);
        assert!(was_for(&dialog("shell", "touch f1"), &after("run_shell_command", "touch f1")));
        assert!(was_for(&dialog("shell", &long), &after("run_shell_command", &long)));
        assert!(!was_for(&dialog("shell", "touch f1"), &after("run_shell_command", "ls")));
        assert!(!was_for(&dialog("shell", "touch f1"), &after("read_file", "touch f1")));
        assert!(
            was_for(&dialog("edit", "a.txt"), &after("write_file", ""))
                && !was_for(&dialog("edit", "ls"), &after("run_shell_command", "ls"))
        );
    }

    #[test]
    fn an_event_of_gemini_in_another_form_is_not_read() {
        let mut other = notification(&json!({}));
        other["notification_type"] = "Other".into();
        for event in [other, json!({"hook_event_name": "BeforeTool"}), json!({"hook_event_name": 1}), json!(null), json!([])] {
            assert_eq!(read(&event), None, "{event}");
        }
    }
}
