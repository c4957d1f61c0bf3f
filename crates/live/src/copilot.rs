//! A permission of Copilot, as the call that a person is shown, and the reply to it. A request in a form that is not known here is left to
//! its terminal.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::request::{self, RUNNING, not_told, with_fields_beside};
use crate::wire::{Asked, RequestId, problem};
use askbox_mailbox::Result;
use askbox_mailbox::programs::COPILOT;
use askbox_run::{Request, Subject};

/// The kinds of permissions that were seen with Copilot 1.0.102.
const KINDS: [&str; 3] = ["shell", "write", "read"];
/// The fields of a request that say nothing beside the whole input of its call: its ids, and parts of the command or the file.
const DERIVED: [&str; 11] = [
    "id",
    "toolCallId",
    "shellType",
    "commands",
    "possiblePaths",
    "possibleUrls",
    "hasWriteFileRedirection",
    "canOfferSessionApproval",
    "newFileContents",
    "fileEdits",
    SEGMENTS,
];
const SEGMENTS: &str = "commandSegments";

#[derive(Deserialize)]
struct Permission {
    id: RequestId,
    kind: String,
}

/// Reads what the extension has told of a dialog.
///
/// # Errors
/// If it is not one that a person can answer here.
pub(super) fn read(asked: Asked) -> Result<(RequestId, Request)> {
    let Asked { event, request, session, root, part } = asked;
    let not_known = |what: &str| request::not_known("Copilot", what);
    if event != "permission.requested" {
        return Err(not_known(&event));
    }
    let Permission { id, kind } = serde_json::from_value(Value::Object(request.clone())).map_err(|e| not_known(&problem(&e)))?;
    if !KINDS.contains(&kind.as_str()) {
        return Err(not_known(&format!("a permission of the kind {kind}")));
    }
    let part = part.filter(|part| part.state.status == RUNNING).ok_or_else(|| not_told(COPILOT.name))?;
    let folders = folders(&request, &session.directory);
    let mut said = request;
    said.retain(|name, value| !value.is_null() && !DERIVED.contains(&name.as_str()));
    let is_alone = |name: &str, field: &str| said.get(name).is_some() && said.get(name) == part.state.input.get(field);
    // A command's own words stand in the input, too.
    let repeated = [("fullCommandText", "command"), ("intention", "description")].map(|(name, field)| (name, is_alone(name, field)));
    said.retain(|name, _| !repeated.contains(&(name.as_str(), true)));
    if !folders.is_empty() {
        said.insert("workingDirectory".into(), json!(folders));
    }
    let input = with_fields_beside(COPILOT.name, part.state.input, said)?;
    request::of(&COPILOT, id, Subject::Call, (part.tool, input), (&session, &root))
}

/// The folders in which parts of a command run, apart from the session's own.
fn folders(request: &Map<String, Value>, own: &str) -> BTreeSet<String> {
    let segments = request.get(SEGMENTS).and_then(Value::as_array).into_iter().flatten();
    segments.filter_map(|segment| segment["workingDirectory"].as_str()).filter(|folder| *folder != own).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::tests::asked;

    fn call(tool: &str, input: Value) -> Value {
        json!({"tool": tool, "state": {"status": "running", "input": input}})
    }

    #[test]
    fn a_call_of_copilot_is_shown_with_its_input_and_all_beside_it() {
        let segments = |folder: &str| json!([{"fullCommandText": "touch a", "workingDirectory": folder}]);
        let request = |folder| {
            json!({
                "id": "r-1", "kind": "shell", "toolCallId": "call_1", "fullCommandText": "touch a", "shellType": "bash", "intention": "does it",
                "commands": [{}], "commandSegments": segments(folder), "possiblePaths": ["a"], "canOfferSessionApproval": true,
                "hasWriteFileRedirection": false, "possibleUrls": [], "requestSandboxBypass": true,
            })
        };
        let part = call("bash", json!({"command": "touch a", "description": "does it", "mode": "sync"}));
        let plain = read(asked("permission.requested", request("/work/My Shop"), part.clone())).unwrap().1;
        let mut shown = json!({"command": "touch a", "description": "does it", "mode": "sync", "copilot.kind": "shell",
            "copilot.requestSandboxBypass": true});
        assert_eq!((plain.tool.as_str(), Value::Object(plain.input)), ("bash", shown.clone()));
        let elsewhere = read(asked("permission.requested", request("/etc"), part)).unwrap().1;
        shown["copilot.workingDirectory"] = json!(["/etc"]);
        assert_eq!(Value::Object(elsewhere.input), shown);
        let other = call("bash", json!({"command": "touch b", "description": "does it"}));
        let other = read(asked("permission.requested", request("/etc"), other)).unwrap().1;
        assert_eq!(other.input["copilot.fullCommandText"], "touch a", "both are shown");
    }

    #[test]
    fn an_edit_of_copilot_is_shown_with_its_difference() {
        let request = json!({"id": "r-1", "kind": "write", "toolCallId": "call_1", "intention": "Create file", "fileName": "/a",
            "diff": "@@\n+one\n", "newFileContents": "one\n", "fileEdits": [{}]});
        let shown =
            read(asked("permission.requested", request, call("apply_patch", json!({"input": "*** Add File: /a\n+one"})))).unwrap().1;
        let mut names: Vec<_> = shown.input.keys().map(String::as_str).collect();
        names.sort_unstable();
        assert_eq!(names, ["copilot.diff", "copilot.fileName", "copilot.intention", "copilot.kind", "input"]);
    }

    #[test]
    fn a_request_of_copilot_that_is_not_known_is_left_alone() {
        let part = || call("bash", json!({"command": "ls"}));
        let request = |kind: &str| json!({"id": "r-1", "kind": kind, "toolCallId": "call_1"});
        assert!(read(asked("permission.requested", request("shell"), part())).is_ok());
        assert!(read(asked("permission.requested", request("extension-permission-access"), part())).is_err());
        assert!(read(asked("permission.requested", request("shell"), Value::Null)).is_err(), "nobody has seen its input");
        assert!(read(asked("user_input.requested", request("shell"), part())).is_err());
        assert!(read(asked("permission.requested", json!({"kind": "shell"}), part())).is_err());
        let imitated = call("bash", json!({"command": "ls", "copilot.kind": "read"}));
        assert!(read(asked("permission.requested", request("shell"), imitated)).is_err());
    }
}
