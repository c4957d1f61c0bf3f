//! The messages of Codex's daemon that matter here, and those that it is sent: JSON objects of a JSON-RPC without its version field. The
//! daemon sends many more. A message that cannot be read is one of those.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use askbox_mailbox::Error;

/// The id of a request of the daemon. It is sent back as it came.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Deserialize)]
#[serde(transparent)]
pub(super) struct RequestId(pub(super) Value);

/// The id of a session.
pub(super) type ThreadId = String;

/// A message of the daemon.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Incoming {
    /// The answer to a request of ours.
    Response { id: u64, result: Result<Value, String> },
    /// A request that waits for a person, or another one.
    Request { id: RequestId, method: String, params: Map<String, Value> },
    /// A request has ended, whoever replied.
    Resolved { thread: ThreadId, request: RequestId },
    /// A session does something else from now on.
    Status { thread: ThreadId, status: Status },
    /// A session's item has begun: its files and their changes are known from now on.
    ItemStarted { thread: ThreadId, item: Item },
    /// A session's item has ended.
    ItemCompleted { thread: ThreadId, item: Item },
    /// A session's turn has ended.
    TurnCompleted { thread: ThreadId, turn: EndedTurn },
    /// A message that does not matter here.
    Other,
}

/// The status of a session.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub(super) enum Status {
    /// It works. The flags say whether it waits for its user.
    #[serde(rename_all = "camelCase")]
    Active {
        #[serde(default)]
        active_flags: Vec<String>,
    },
    /// The daemon has put it away.
    NotLoaded,
    /// It is idle, or failed.
    #[serde(other)]
    Resting,
}

impl Status {
    /// True if the session waits for its user.
    pub(super) fn waits(&self) -> bool {
        let flags = ["waitingOnApproval", "waitingOnUserInput"];
        matches!(self, Self::Active { active_flags } if active_flags.iter().any(|flag| flags.contains(&flag.as_str())))
    }
}

/// A session, as the daemon describes it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Thread {
    pub(super) id: ThreadId,
    pub(super) cwd: std::path::PathBuf,
    pub(super) status: Status,
    /// The session that started this one as its subagent.
    pub(super) parent_thread_id: Option<ThreadId>,
    pub(super) agent_nickname: Option<String>,
    pub(super) agent_role: Option<String>,
    /// The name that its user gave it.
    pub(super) name: Option<String>,
    /// The beginning of its first message.
    pub(super) preview: Option<String>,
    /// When it last changed, in seconds since 1970.
    pub(super) updated_at: Option<i64>,
    /// True for a session that Codex does not keep, such as one that makes a title.
    #[serde(default)]
    pub(super) ephemeral: bool,
    /// Turns of the session, if the request wanted them.
    #[serde(default)]
    pub(super) turns: Vec<Turn>,
}

impl Thread {
    /// Its name, or else the beginning of its first message.
    pub(super) fn title(&self) -> Option<&str> {
        [&self.name, &self.preview].into_iter().flatten().map(String::as_str).find(|title| !title.trim().is_empty())
    }
}

/// A turn of a session.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct Turn {
    #[serde(default)]
    pub(super) items: Vec<Item>,
}

/// A turn that has ended.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct EndedTurn {
    pub(super) id: String,
    /// `completed`, `interrupted` or `failed`.
    pub(super) status: String,
}

/// A part of a turn: a command, a change of files, a message.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct Item {
    pub(super) id: String,
    /// The id that a client gave to the message that this is.
    #[serde(rename = "clientId")]
    pub(super) client_id: Option<String>,
    /// Whether the call was made. Only commands and changes of files have it.
    pub(super) status: Option<String>,
    /// The files that it changes.
    pub(super) changes: Option<Vec<FileChange>>,
}

/// The change of one file.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct FileChange {
    pub(super) path: String,
    pub(super) kind: ChangeKind,
    /// The lines of a changed file as a diff; the whole content of a file that is added or deleted.
    pub(super) diff: String,
}

/// The kind of a change. A kind that is not known cannot be shown, so its call is not asked about.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub(super) enum ChangeKind {
    Add,
    Delete,
    Update { move_path: Option<String> },
}

/// Reads a message.
pub(super) fn read(text: &str) -> Incoming {
    known(text).unwrap_or(Incoming::Other)
}

fn known(text: &str) -> Option<Incoming> {
    let Value::Object(mut message) = serde_json::from_str(text).ok()? else { return None };
    let params = message.remove("params").unwrap_or_default();
    let method = message.get("method").and_then(Value::as_str);
    match (method, message.get("id")) {
        (Some(method), Some(id)) => {
            let Value::Object(params) = params else { return None };
            Some(Incoming::Request { id: RequestId(id.clone()), method: method.to_owned(), params })
        }
        (Some(method), None) => notification(method, params),
        (None, Some(id)) => {
            let id = id.as_u64()?;
            let failed = message.get("error").map(|error| error["message"].as_str().unwrap_or("without a reason").to_owned());
            Some(Incoming::Response { id, result: failed.map_or_else(|| Ok(message.remove("result").unwrap_or_default()), Err) })
        }
        (None, None) => None,
    }
}

fn notification(method: &str, params: Value) -> Option<Incoming> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Params {
        thread_id: ThreadId,
        request_id: Option<RequestId>,
        status: Option<Status>,
        item: Option<Item>,
        turn: Option<EndedTurn>,
    }
    if !["serverRequest/resolved", "thread/status/changed", "item/started", "item/completed", "turn/completed", "thread/closed"]
        .contains(&method)
    {
        return None;
    }
    let Params { thread_id: thread, request_id, status, item, turn } = serde_json::from_value(params).ok()?;
    Some(match method {
        "serverRequest/resolved" => Incoming::Resolved { thread, request: request_id? },
        "thread/status/changed" => Incoming::Status { thread, status: status? },
        "thread/closed" => Incoming::Status { thread, status: Status::NotLoaded },
        "item/started" => Incoming::ItemStarted { thread, item: item? },
        "item/completed" => Incoming::ItemCompleted { thread, item: item? },
        _ => Incoming::TurnCompleted { thread, turn: turn? },
    })
}

/// The session in the answer to a request.
pub(super) fn thread(result: &Value) -> Option<Thread> {
    Thread::deserialize(&result["thread"]).ok()
}

/// The items of the session's newest turn in the answer to a request.
pub(super) fn newest_items(result: &Value) -> Vec<Item> {
    let page = Vec::<Turn>::deserialize(&result["initialTurnsPage"]["data"]).unwrap_or_default();
    page.into_iter().flat_map(|turn| turn.items).collect()
}

/// The error for a daemon that refused a request.
pub(super) fn refused(why: &str) -> Error {
    Error::failed(format!("codex's daemon does not take this client: {why}"), "codex app-server daemon version")
}

/// A request of ours.
pub(super) fn request(id: u64, method: &str, params: &Value) -> String {
    json!({ "id": id, "method": method, "params": params }).to_string()
}

/// A notification of ours.
pub(super) fn notice(method: &str) -> String {
    json!({ "method": method }).to_string()
}

/// The reply to a request of the daemon.
pub(super) fn reply(to: &RequestId, result: &Value) -> String {
    json!({ "id": to.0, "result": result }).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_in_another_form_has_no_session() {
        for result in [json!("thread"), json!([{}]), json!(7), json!(null), json!({"thread": "t"}), json!({"initialTurnsPage": "x"})] {
            assert_eq!((thread(&result), newest_items(&result)), (None, Vec::new()), "{result}");
        }
    }

    #[test]
    fn the_messages_of_codexs_daemon_are_told_apart() {
        let status = |text: &str| match read(text) {
            Incoming::Status { status, .. } => status,
            other => panic!("{other:?}"),
        };
        let changed = |status: &str| format!(r#"{{"method":"thread/status/changed","params":{{"threadId":"t","status":{status}}}}}"#);
        assert!(status(&changed(r#"{"type":"active","activeFlags":["waitingOnApproval"]}"#)).waits());
        assert!(status(&changed(r#"{"type":"active","activeFlags":["new","waitingOnUserInput"]}"#)).waits());
        assert!(!status(&changed(r#"{"type":"active","activeFlags":[]}"#)).waits());
        assert_eq!(status(&changed(r#"{"type":"idle"}"#)), Status::Resting);
        assert_eq!(status(&changed(r#"{"type":"new","x":1}"#)), Status::Resting);
        assert_eq!(status(&changed(r#"{"type":"notLoaded"}"#)), Status::NotLoaded);
        assert_eq!(status(r#"{"method":"thread/closed","params":{"threadId":"t"}}"#), Status::NotLoaded);
        let resolved = read(r#"{"method":"serverRequest/resolved","params":{"threadId":"t","requestId":"7"}}"#);
        assert_eq!(resolved, Incoming::Resolved { thread: "t".into(), request: RequestId("7".into()) });
        let ended = read(r#"{"method":"turn/completed","params":{"threadId":"t","turn":{"id":"u","status":"interrupted","items":[]}}}"#);
        let turn = EndedTurn { id: "u".into(), status: "interrupted".into() };
        assert_eq!(ended, Incoming::TurnCompleted { thread: "t".into(), turn });
        assert_eq!(read(r#"{"id":3,"error":{"code":-32600,"message":"no"}}"#), Incoming::Response { id: 3, result: Err("no".into()) });
        assert_eq!(read(r#"{"id":3,"result":{}}"#), Incoming::Response { id: 3, result: Ok(json!({})) });
        for other in ["", "[]", "7", r#"{"method":"item/agentMessage/delta","params":{}}"#, r#"{"method":"item/started","params":{}}"#] {
            assert_eq!(read(other), Incoming::Other, "{other}");
        }
    }

    #[test]
    fn a_change_of_a_file_that_is_not_known_is_not_read() {
        let item = |kind: &str| {
            let item =
                format!(r#"{{"type":"fileChange","id":"c","status":"inProgress","changes":[{{"path":"/a","kind":{kind},"diff":"x"}}]}}"#);
            read(&format!(r#"{{"method":"item/started","params":{{"threadId":"t","item":{item}}}}}"#))
        };
        assert!(matches!(item(r#"{"type":"update","move_path":"/b"}"#), Incoming::ItemStarted { item: Item { changes: Some(_), .. }, .. }));
        assert_eq!(item(r#"{"type":"chmod"}"#), Incoming::Other);
    }

    #[test]
    fn a_reply_has_the_id_as_it_came() {
        assert_eq!(reply(&RequestId(json!("a")), &json!({"decision": "accept"})), r#"{"id":"a","result":{"decision":"accept"}}"#);
        assert_eq!(reply(&RequestId(json!(0)), &json!({})), r#"{"id":0,"result":{}}"#);
    }
}
