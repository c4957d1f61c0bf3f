//! The events of Kimi (measured with 2.1.0). `PermissionRequest` comes beside the dialog. `PermissionResult` comes with the same `id` after Yes,
//! No, Esc and Ctrl-C. Questions of the agent have no such events.

use serde_json::Value;

use super::{News, file, word};

pub(super) fn read(event: &Value) -> Option<News> {
    let id = word(event, "id")?;
    match event["hook_event_name"].as_str()? {
        "PermissionRequest" => {
            let display = &event["display"];
            let path = || word(display, "path").map(|path| file(&path));
            let asks = word(display, "command").or_else(|| word(event, "action")).or_else(path);
            let tool = word(event, "tool_name").unwrap_or_default();
            Some(News::Opens {
                id: Some(id),
                cwd: word(event, "cwd").unwrap_or_default(),
                asks: asks.unwrap_or_else(|| tool.clone()),
                tool,
            })
        }
        "PermissionResult" => Some(News::Ends(id)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// As Kimi wrote it, without the fields that are not read.
    fn request() -> Value {
        json!({"hook_event_name": "PermissionRequest", "session_id": "session_d226", "cwd": "/work/docs", "client_type": "kimi_code_cli",
            "id": "approval_d4ad", "tool_call_id": "call_0173", "tool_name": "Bash", "action": "Running: touch f1",
            "display": {"kind": "command", "command": "touch f1", "cwd": "/work/docs", "language": "bash"}, "tool_input": {"command": "touch f1"}})
    }

    #[test]
    fn a_dialog_of_kimi_opens_and_ends_with_the_same_id() {
        let opens =
            |asks: &str| News::Opens { id: Some("approval_d4ad".into()), cwd: "/work/docs".into(), tool: "Bash".into(), asks: asks.into() };
        assert_eq!(read(&request()), Some(opens("touch f1")));
        let mut other = request();
        other["display"] = json!({"kind": "file_io", "operation": "write", "path": "/work/docs/a.txt", "content": "hello"});
        assert_eq!(read(&other), Some(opens("Running: touch f1")));
        let mut result = request();
        result["hook_event_name"] = "PermissionResult".into();
        assert_eq!(read(&result), Some(News::Ends("approval_d4ad".into())));
    }

    #[test]
    fn an_event_of_kimi_in_another_form_is_not_read() {
        let changes =
            [("hook_event_name", json!("Stop")), ("hook_event_name", json!(1)), ("id", json!(null)), ("id", json!("")), ("id", json!([]))];
        for (name, value) in changes {
            let mut event = request();
            event[name] = value;
            assert_eq!(read(&event), None, "{event}");
        }
        for event in [json!(null), json!([]), json!("PermissionRequest"), json!({})] {
            assert_eq!(read(&event), None, "{event}");
        }
    }
}
