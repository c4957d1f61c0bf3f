//! The sessions of Copilot, from the folders `session-state/ID`. The process of a session holds the lock of `inuse.PID.hold`, so a session
//! whose process was killed is told apart. `events.jsonl` says what it does.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::sessions::found::{Doing, Found, Need, Sessions};
use crate::sessions::kept;
use askbox_mailbox::{Result, Time, disk};

/// The tool that shows a question of the agent. Copilot writes no event of the dialog itself.
const ASK_USER: &str = "ask_user";

#[derive(Deserialize)]
struct Event {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    data: Data,
    #[serde(default)]
    timestamp: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Data {
    request_id: Option<String>,
    tool_call_id: Option<String>,
    tool_name: Option<String>,
    permission_request: Option<Request>,
    context: Option<Context>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request {
    tool_call_id: Option<String>,
}

#[derive(Deserialize)]
struct Context {
    cwd: PathBuf,
}

impl Data {
    /// True if this call is none of those that have ended.
    fn is_open(&self, ended: &HashSet<String>) -> bool {
        self.tool_call_id.as_ref().is_none_or(|id| !ended.contains(id))
    }
}

impl Event {
    fn at(&self) -> Option<Time> {
        self.timestamp.parse().ok()
    }

    /// The state of the session after this event, if no dialog waits. `None` if the event does not say.
    fn doing(&self) -> Option<Doing> {
        match self.kind.as_str() {
            "assistant.turn_end" | "abort" | "session.start" | "session.resume" => Some(Doing::Rests),
            "user.message" | "assistant.turn_start" | "assistant.message" => Some(Doing::Works),
            kind if kind.starts_with("tool.execution_") => Some(Doing::Works),
            _ => None,
        }
    }
}

pub(super) fn sessions(folder: &Path) -> Sessions {
    let folders = kept::folders(&folder.join("session-state"));
    folders.into_iter().filter_map(|(id, folder)| holder(&folder).map(|pid| session(id, &folder, pid))).collect()
}

/// The process that has the session open.
fn holder(folder: &Path) -> Option<i32> {
    let holds = |name: String| {
        let pid: i32 = name.strip_prefix("inuse.")?.strip_suffix(".hold")?.parse().ok()?;
        kept::process(pid, None)?;
        disk::is_locked_by(&folder.join(&name), pid).unwrap_or(true).then_some(pid)
    };
    kept::names(folder).find_map(holds)
}

fn session(id: String, folder: &Path, pid: i32) -> Result<Option<Found>> {
    let events = folder.join("events.jsonl");
    if !disk::exists(&events) {
        // Copilot writes it with the first message.
        return Ok(Some(Found { id, pid: Some(pid), cwd: PathBuf::new(), title: None, doing: Doing::Rests, since: None }));
    }
    let begin: Event = kept::first_record(&events)?;
    let (doing, since) = newest(kept::newest_records(&events)?);
    let cwd = begin.data.context.map(|context| context.cwd).unwrap_or_default();
    Ok(Some(Found { id, pid: Some(pid), cwd, title: None, doing, since }))
}

/// The state of the session, from its events, the newest first.
fn newest(events: impl Iterator<Item = Event>) -> (Doing, Option<Time>) {
    // The ids of requests and calls.
    let mut ended = HashSet::new();
    let mut newest = None;
    for event in events {
        newest = newest.or_else(|| event.doing().map(|doing| (doing, event.at())));
        match event.kind.as_str() {
            "permission.completed" => ended.extend(event.data.request_id),
            "tool.execution_complete" => ended.extend(event.data.tool_call_id),
            "permission.requested" => {
                let at = event.at();
                let call = event.data.permission_request.and_then(|request| request.tool_call_id);
                if ![event.data.request_id, call].into_iter().flatten().any(|id| ended.contains(&id)) {
                    return (Doing::Waits(Need::Permission), at);
                }
            }
            "tool.execution_start" if event.data.tool_name.as_deref() == Some(ASK_USER) && event.data.is_open(&ended) => {
                return (Doing::Waits(Need::Answer), event.at());
            }
            // An earlier process of the session has left the rest.
            "abort" | "session.start" | "session.resume" | "session.shutdown" => break,
            _ => {}
        }
    }
    newest.unwrap_or((Doing::Unknown, None))
}
