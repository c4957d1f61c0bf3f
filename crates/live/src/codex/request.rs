//! A request of the daemon, as the call that a person is shown. A request, a kind or a decision that is not known here is left alone: the
//! person answers it at the terminal.

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::codex::wire::{ChangeKind, FileChange, ThreadId};
use crate::request::Choice;

/// The fields of a command's request that say nothing about the command itself.
const ABOUT_THE_REQUEST: [&str; 12] = [
    "kind",
    "threadId",
    "turnId",
    "itemId",
    "approvalId",
    "startedAtMs",
    "environmentId",
    "cwd",
    "commandActions",
    "availableDecisions",
    "proposedExecpolicyAmendment",
    "proposedNetworkPolicyAmendments",
];

/// A request that a person can answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Request {
    pub(super) thread: ThreadId,
    pub(super) turn: String,
    /// The id of the session's item that asks.
    pub(super) item: String,
    /// The id of the request, if its item makes more than one.
    part: Option<String>,
    pub(super) asks: Asks,
}

/// The subject of a request.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Asks {
    /// May this command be run?
    Command { cwd: Option<PathBuf>, input: Map<String, Value> },
    /// May these files be changed? The changes stand in the session's item.
    Patch { input: Map<String, Value> },
    /// Questions of the agent.
    Input(Vec<Asked>),
}

/// A question of the agent.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Asked {
    pub(super) id: String,
    pub(super) header: String,
    pub(super) question: String,
    #[serde(default)]
    is_secret: bool,
    pub(super) options: Option<Vec<Choice>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Ids {
    thread_id: ThreadId,
    turn_id: String,
    item_id: String,
    approval_id: Option<String>,
}

impl Request {
    /// Reads a request. `None` if it is not one that a person can answer here.
    pub(super) fn read(method: &str, params: &Map<String, Value>) -> Option<Self> {
        let Ids { thread_id: thread, turn_id: turn, item_id: item, approval_id: part } =
            serde_json::from_value(Value::Object(params.clone())).ok()?;
        let asks = match method {
            "item/commandExecution/requestApproval" => command(params)?,
            "item/fileChange/requestApproval" => {
                let mut input = Map::new();
                input.extend(["grantRoot", "reason"].into_iter().filter_map(|name| is_there(params, name)));
                Asks::Patch { input }
            }
            "item/tool/requestUserInput" => {
                let asked: Vec<Asked> = serde_json::from_value(params.get("questions")?.clone()).ok()?;
                // A secret must not lie in a mailbox.
                if asked.is_empty() || asked.iter().any(|asked| asked.is_secret) {
                    return None;
                }
                Asks::Input(asked)
            }
            _ => return None,
        };
        Some(Self { thread, turn, item, part, asks })
    }

    /// The id of the call: the item, and the part of it if it asks more than once.
    pub(super) fn call_id(&self) -> String {
        self.part.as_ref().map_or_else(|| self.item.clone(), |part| format!("{} {part}", self.item))
    }
}

/// The command with everything that the daemon says about it. A field that is not known is shown, too.
fn command(params: &Map<String, Value>) -> Option<Asks> {
    let kind = params.get("kind").map_or(Some("command"), Value::as_str)?;
    let accepts = |decisions: &Value| decisions.as_array().is_some_and(|all| all.iter().any(|decision| decision == "accept"));
    if kind != "command" || !params.get("availableDecisions").is_none_or(|decisions| decisions.is_null() || accepts(decisions)) {
        return None;
    }
    params.get("command")?.as_str().filter(|command| !command.trim().is_empty())?;
    let cwd = params.get("cwd").and_then(Value::as_str).map(PathBuf::from);
    let names = params.keys().filter(|name| !ABOUT_THE_REQUEST.contains(&name.as_str()));
    let input = names.filter_map(|name| is_there(params, name)).collect();
    Some(Asks::Command { cwd, input })
}

fn is_there(params: &Map<String, Value>, name: &str) -> Option<(String, Value)> {
    params.get(name).filter(|value| !value.is_null()).map(|value| (name.to_owned(), value.clone()))
}

/// The changes of files as one text. Each line of each change is there.
pub(super) fn patch(changes: &[FileChange]) -> String {
    let mut out = String::new();
    for FileChange { path, kind, diff } in changes {
        // A path could have a line break, and imitate the change of another file.
        let path = json!(path).to_string();
        let (head, sign) = match kind {
            ChangeKind::Add => (format!("add {path}"), "+"),
            ChangeKind::Delete => (format!("delete {path}"), "-"),
            ChangeKind::Update { move_path: None } => (format!("change {path}"), ""),
            ChangeKind::Update { move_path: Some(to) } => (format!("change {path}, and move it to {}", json!(to)), ""),
        };
        out.push_str(&head);
        out.push('\n');
        let lines = diff.strip_suffix('\n').unwrap_or(diff).split('\n');
        lines.for_each(|line| out.push_str(&format!("  {sign}{line}\n")));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(method: &str, more: Value) -> Option<Request> {
        let mut params = json!({"threadId": "t", "turnId": "u", "itemId": "call_1", "startedAtMs": 1}).as_object().unwrap().clone();
        params.extend(more.as_object().unwrap().clone());
        Request::read(method, &params)
    }

    #[test]
    fn a_command_is_shown_with_all_that_the_daemon_says_of_it() {
        let more = json!({
            "kind": "command", "environmentId": "local", "reason": "needs it", "command": "/bin/bash -lc 'touch qa'", "cwd": "/w",
            "commandActions": [], "proposedExecpolicyAmendment": ["touch"], "availableDecisions": ["accept", {"x": 1}, "cancel"],
            "additionalPermissions": {"network": {"enabled": true}}, "networkApprovalContext": null, "newField": "rm",
        });
        let request = read("item/commandExecution/requestApproval", more).unwrap();
        let Asks::Command { cwd, input } = request.asks else { panic!() };
        assert_eq!(cwd, Some("/w".into()));
        let expected = json!({
            "reason": "needs it", "command": "/bin/bash -lc 'touch qa'", "additionalPermissions": {"network": {"enabled": true}},
            "newField": "rm",
        });
        assert_eq!(Value::Object(input), expected);
    }

    #[test]
    fn a_request_of_codex_that_is_not_known_is_left_alone() {
        let command = json!({"command": "ls"});
        assert!(read("item/commandExecution/requestApproval", command.clone()).is_some());
        let with = |name: &str, value: Value| {
            let mut more = command.clone();
            more[name] = value;
            read("item/commandExecution/requestApproval", more)
        };
        assert!(with("kind", json!("writeStdin")).is_none() && with("kind", json!(7)).is_none());
        assert!(with("availableDecisions", json!(["cancel"])).is_none() && with("command", json!(null)).is_none());
        assert!(with("availableDecisions", Value::Null).is_some());
        for method in ["mcpServer/elicitation/request", "item/permissions/requestApproval", "item/tool/call", "execCommandApproval"] {
            assert!(read(method, command.clone()).is_none(), "{method}");
        }
        assert!(Request::read("item/fileChange/requestApproval", &Map::new()).is_none());
    }

    #[test]
    fn a_secret_is_not_asked_for_in_the_mailbox() {
        let ask = |secret: bool| {
            let question =
                json!({"id": "q1", "header": "Key", "question": "The key?", "isSecret": secret, "isOther": true, "options": null});
            read("item/tool/requestUserInput", json!({"questions": [question], "isBlocking": false}))
        };
        assert!(ask(false).is_some() && ask(true).is_none());
    }

    #[test]
    fn each_line_of_each_file_of_a_patch_is_shown() {
        let change = |path: &str, kind: ChangeKind, diff: &str| FileChange { path: path.into(), kind, diff: diff.into() };
        let changes = [
            change("/a\nadd /b", ChangeKind::Add, "one\n\ntwo\n"),
            change("/c", ChangeKind::Delete, "x"),
            change("/d", ChangeKind::Update { move_path: Some("/e".into()) }, "@@ -1 +1 @@\n-a\n+b\n"),
        ];
        let expected = "add \"/a\\nadd /b\"\n  +one\n  +\n  +two\ndelete \"/c\"\n  -x\nchange \"/d\", and move it to \"/e\"\n  @@ -1 +1 @@\n  -a\n  +b\n";
        assert_eq!(patch(&changes), expected);
    }
}
