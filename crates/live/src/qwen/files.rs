//! Qwen's events, and the replies to it.

use std::collections::HashMap;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::PathBuf;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use serde_json::{Map, Value, json};

use crate::qwen::folder::Folder;
use crate::qwen::lines::{Begin, Line, Response, results};
use crate::qwen::lines::{EVENT, ID, is_left_to_the_terminal};
use crate::request::RUNNING;
use crate::wire::{self, Asked, Incoming, NOT_FOUND, Outgoing, Part, PartState, RequestId, Session, TAKEN};
use askbox_mailbox::{ProcessHandle, Result, disk};

/// The version of Qwen's protocol that is known.
const PROTOCOL: u32 = 2;
/// How long to wait before a refusal is sent again, and for the next error. Qwen looks at the file every half second.
const AGAIN_AFTER: Duration = Duration::from_millis(1500);
/// How often a refusal is sent at most.
const MOST: u32 = 8;

/// The files of one process of Qwen, and what is known of its dialogs.
pub(crate) struct Files {
    replies: PathBuf,
    /// The session. `None` before it begins, and if its protocol is not known.
    session: Option<Session>,
    /// The calls of the open dialogs.
    open: HashMap<RequestId, String>,
    sent: HashMap<RequestId, Sent>,
}

/// A reply that Qwen has not answered yet.
struct Sent {
    allowed: bool,
    times: u32,
    /// How often Qwen has said that the call does not wait any more.
    errors: u32,
    /// The time of the last one, or of the last error.
    last: Instant,
}

impl Sent {
    /// True if something is due about this refusal.
    fn is_due(&self) -> bool {
        !self.allowed && self.last.elapsed() >= AGAIN_AFTER
    }
}

/// Opens the files, and starts to read. From now on, Qwen can write its events. Their channel ends when Qwen has ended.
pub(crate) fn open(folder: &Folder, qwen: ProcessHandle) -> Result<(Files, Receiver<Vec<u8>>)> {
    let lines = wire::lines(UntilEnd { events: disk::fifo::open_reader(&folder.events())?, qwen })?;
    Ok((Files::new(folder.replies()), lines))
}

impl Files {
    fn new(replies: PathBuf) -> Self {
        Self { replies, session: None, open: HashMap::new(), sent: HashMap::new() }
    }

    /// Reads a line of Qwen.
    pub(crate) fn read(&mut self, line: &[u8]) -> Vec<Incoming> {
        match serde_json::from_slice(line) {
            Ok(Line::System { subtype, data }) => self.begins_or_ends(&subtype, data),
            Ok(Line::ControlRequest { request_id, request }) => self.asks(request_id, request).into_iter().collect(),
            Ok(Line::ControlResponse { response }) => self.answers(response).into_iter().collect(),
            Ok(Line::User { parent_tool_use_id, message }) => match results(&message) {
                Some(calls) => self.end(|call| calls.contains(&call)),
                None if parent_tool_use_id.is_some() => Vec::new(),
                // A turn begins once no dialog of the one before is open.
                None => self.end(|_| true),
            },
            Ok(Line::Other) => Vec::new(),
            Err(e) => vec![failed(None, format!("Qwen has written a line in a form that is not known: {}", wire::problem(&e)))],
        }
    }

    fn begins_or_ends(&mut self, subtype: &str, data: Value) -> Vec<Incoming> {
        if !["session_start", "session_end"].contains(&subtype) {
            return Vec::new();
        }
        // A Qwen whose terminal is closed still writes this, and so does one that starts itself again.
        let mut told: Vec<Incoming> = self.open.drain().map(|(id, _)| Incoming::Left { id }).collect();
        self.sent.clear();
        self.session = None;
        if subtype == "session_start" {
            match serde_json::from_value::<Begin>(data) {
                Ok(Begin { session_id, cwd, protocol_version: PROTOCOL }) => {
                    self.session = Some(Session { id: session_id, directory: cwd, title: None, agent: None });
                }
                _ => told.push(failed(None, "this version of Qwen begins a session in a form that is not known".into())),
            }
        }
        told
    }

    fn asks(&mut self, id: RequestId, mut request: Map<String, Value>) -> Option<Incoming> {
        let session = self.session.clone()?;
        if is_left_to_the_terminal(&request) {
            return None;
        }
        let text = |name: &str| request.get(name).and_then(Value::as_str).map(str::to_owned);
        let (event, tool, call) = (text("subtype").unwrap_or_default(), text("tool_name"), text("tool_use_id"));
        let input = request.get("input").and_then(Value::as_object).cloned();
        let (Some(tool), Some(call), Some(input), EVENT) = (tool, call, input, event.as_str()) else {
            return Some(failed(None, format!("Qwen asks in a form that is not known: {event}")));
        };
        request.insert(ID.into(), id.as_str().into());
        self.open.insert(id, call);
        let part = Some(Part { tool, state: PartState { status: RUNNING.into(), input } });
        Some(Incoming::Asked(Box::new(Asked { event, request, root: session.clone(), session, part })))
    }

    fn answers(&mut self, response: Response) -> Option<Incoming> {
        match response {
            Response::Success { request_id: id, response } => {
                self.open.remove(&id);
                Some(match self.sent.remove(&id) {
                    Some(sent) if sent.allowed == response.allowed => Incoming::Replied { id, status: TAKEN },
                    Some(_) => Incoming::Replied { id, status: NOT_FOUND },
                    None => Incoming::Ended { id },
                })
            }
            Response::Error { request_id: id, error } => {
                let is_gone = Response::is_gone(&error);
                let sent = self.sent.get_mut(&id)?;
                // If Qwen took the first refusal in silence, it refuses the others. Otherwise it refuses all of them.
                if is_gone && !sent.allowed && sent.errors + 1 < sent.times {
                    (sent.errors, sent.last) = (sent.errors + 1, Instant::now());
                    return None;
                }
                self.sent.remove(&id);
                self.open.remove(&id);
                Some(match is_gone {
                    true => Incoming::Replied { id, status: NOT_FOUND },
                    false => failed(Some(id), format!("Qwen has not taken a reply: {error}")),
                })
            }
        }
    }

    /// Ends the dialogs of these calls. Nobody has allowed them, so a refusal of ours holds, whoever was first.
    fn end(&mut self, is_over: impl Fn(&str) -> bool) -> Vec<Incoming> {
        let over: Vec<RequestId> = self.open.extract_if(|_, call| is_over(call)).map(|(id, _)| id).collect();
        let end = |id: RequestId| match self.sent.remove(&id) {
            Some(Sent { allowed: false, .. }) => Incoming::Replied { id, status: TAKEN },
            Some(_) => Incoming::Replied { id, status: NOT_FOUND },
            None => Incoming::Ended { id },
        };
        over.into_iter().map(end).collect()
    }

    /// Sends a reply.
    pub(crate) fn send(&mut self, reply: &Outgoing) -> Result<()> {
        let allowed = reply.body["allowed"] == true;
        self.write(&reply.id, allowed)?;
        self.sent.insert(reply.id.clone(), Sent { allowed, times: 1, errors: 0, last: Instant::now() });
        Ok(())
    }

    /// Sends a refusal again, because Qwen says nothing about one that it took. Returns the refusals that it took: it has refused the later
    /// ones of the same dialog, and says no more.
    pub(crate) fn send_again(&mut self) -> Result<Vec<Incoming>> {
        let is_due = |sent: &Sent| sent.is_due() && sent.errors == 0 && sent.times < MOST;
        let due: Vec<RequestId> = self.sent.iter().filter(|(_, sent)| is_due(sent)).map(|(id, _)| id.clone()).collect();
        for id in due {
            self.write(&id, false)?;
            if let Some(sent) = self.sent.get_mut(&id) {
                (sent.times, sent.last) = (sent.times + 1, Instant::now());
            }
        }
        let taken: Vec<RequestId> = self.sent.extract_if(|_, sent| sent.is_due() && sent.errors > 0).map(|(id, _)| id).collect();
        self.open.retain(|id, _| !taken.contains(id));
        Ok(taken.into_iter().map(|id| Incoming::Replied { id, status: TAKEN }).collect())
    }

    fn write(&self, id: &RequestId, allowed: bool) -> Result<()> {
        let line = json!({ "type": "confirmation_response", "request_id": id.as_str(), "allowed": allowed });
        disk::append(&self.replies, format!("{line}\n").as_bytes()).map(drop)
    }
}

fn failed(id: Option<RequestId>, why: String) -> Incoming {
    Incoming::Failed { id, why }
}

/// The pipe of Qwen's events. It ends when Qwen has ended and everything is read. The pipe itself never ends, because this process has
/// it open for writing, too.
struct UntilEnd {
    events: File,
    qwen: ProcessHandle,
}

impl Read for UntilEnd {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        loop {
            let is_gone = self.qwen.is_gone();
            match self.events.read(buffer) {
                Err(e) if e.kind() == ErrorKind::WouldBlock && is_gone => return Ok(0),
                Err(e) if e.kind() == ErrorKind::WouldBlock => {}
                other => return other,
            }
            let mut fds = [PollFd::new(&self.events, PollFlags::IN), PollFd::new(&self.qwen, PollFlags::IN)];
            match poll(&mut fds, None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(e) => return Err(e.into()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::qwen::lines;
    use askbox_run::asking::request::Request;

    const REQUEST: &str = "9895aefe-423d-4fe5-b040-97b71fad57ba";

    fn id() -> RequestId {
        REQUEST.to_owned().try_into().unwrap()
    }

    fn files(folder: &tempfile::TempDir) -> Files {
        Files::new(folder.path().join("replies"))
    }

    fn hears(files: &mut Files, line: &Value) -> Vec<Incoming> {
        files.read(format!("{line}\n").as_bytes())
    }

    fn begins(files: &mut Files, protocol: u32) -> Vec<Incoming> {
        let data = json!({"session_id": "s-1", "cwd": "/work/My Shop", "protocol_version": protocol});
        hears(files, &json!({"type": "system", "subtype": "session_start", "data": data}))
    }

    /// A request for a command, as Qwen writes it.
    fn asks(tool: &str, label: &str) -> Value {
        let suggestions = json!([{"type": "allow", "label": label, "description": "Execute: touch a"}, {"type": "deny", "label": "Deny"}]);
        let request = json!({"subtype": "can_use_tool", "tool_name": tool, "tool_use_id": "call_1", "input": {"command": "touch a"},
            "permission_suggestions": suggestions, "blocked_path": null});
        json!({"type": "control_request", "request_id": REQUEST, "request": request})
    }

    fn opens(files: &mut Files) -> (RequestId, Request) {
        begins(files, PROTOCOL);
        let mut told = hears(files, &asks("run_shell_command", "Allow Command"));
        let Some(Incoming::Asked(asked)) = told.pop() else { panic!("it asks") };
        lines::read(*asked).unwrap()
    }

    fn success(allowed: bool) -> Value {
        json!({"type": "control_response", "response": {"subtype": "success", "request_id": REQUEST, "response": {"allowed": allowed}}})
    }

    fn refuses_reply(why: &str) -> Value {
        json!({"type": "control_response", "response": {"subtype": "error", "request_id": REQUEST, "error": why}})
    }

    fn prompt() -> Value {
        json!({"type": "user", "parent_tool_use_id": null, "message": {"role": "user", "content": [{"type": "text", "text": "go on"}]}})
    }

    fn result_of(call: &str) -> Value {
        json!({"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": call, "content": "x"}]}})
    }

    fn reply(allowed: bool) -> Outgoing {
        Outgoing { id: id(), path: String::new(), body: json!({"allowed": allowed}) }
    }

    #[test]
    fn a_command_of_qwen_is_shown_with_its_input() {
        let folder = tempfile::tempdir().unwrap();
        let (asked_id, asked) = opens(&mut files(&folder));
        assert_eq!((asked_id.as_str(), asked.tool.as_str(), asked.call.as_str()), (REQUEST, "run_shell_command", REQUEST));
        assert_eq!(Value::Object(asked.input), json!({"command": "touch a"}), "the description says nothing more");
    }

    #[test]
    fn warnings_and_new_fields_of_qwen_are_shown_beside_the_input() {
        let folder = tempfile::tempdir().unwrap();
        let mut files = files(&folder);
        begins(&mut files, PROTOCOL);
        let mut line = asks("run_shell_command", "Allow Command");
        line["request"]["permission_suggestions"][0]["description"] = "It leaves the folder\nExecute: touch a".into();
        line["request"]["blocked_path"] = "/etc".into();
        let Some(Incoming::Asked(asked)) = hears(&mut files, &line).pop() else { panic!("it asks") };
        let shown = Value::Object(lines::read(*asked).unwrap().1.input);
        let right = json!({"command": "touch a", "qwen.dialog": "It leaves the folder\nExecute: touch a", "qwen.blocked_path": "/etc"});
        assert_eq!(shown, right);
    }

    #[test]
    fn a_request_of_qwen_that_is_not_known_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let mut files = files(&folder);
        assert!(hears(&mut files, &asks("run_shell_command", "Allow Command")).is_empty(), "no session has begun");
        assert!(matches!(begins(&mut files, 3)[..], [Incoming::Failed { .. }]));
        assert!(hears(&mut files, &asks("run_shell_command", "Allow Command")).is_empty(), "its protocol is not known");
        begins(&mut files, PROTOCOL);
        assert!(hears(&mut files, &asks("ask_user_question", "Allow")).is_empty());
        assert!(hears(&mut files, &asks("exit_plan_mode", "Approve Plan")).is_empty());
        let Some(Incoming::Asked(asked)) = hears(&mut files, &asks("new_tool", "Allow")).pop() else { panic!("it asks") };
        assert!(lines::read(*asked).is_err(), "the kind of the dialog is not known");
        let other = json!({"type": "control_request", "request_id": REQUEST, "request": {"subtype": "new_kind"}});
        assert!(matches!(hears(&mut files, &other)[..], [Incoming::Failed { id: None, .. }]));
        assert!(matches!(files.read(b"no json\n")[..], [Incoming::Failed { id: None, .. }]));
        assert!(files.read(b"{\"type\":\"stream_event\"}\n").is_empty());
    }

    #[test]
    fn the_end_of_a_dialog_of_qwen_says_who_was_first() {
        let folder = tempfile::tempdir().unwrap();
        let gone = || refuses_reply("tool call is no longer awaiting approval");
        // Our reply, Qwen's line, and the status. Without a reply of ours, the dialog has ended at the terminal.
        for (sent, line, status) in [
            (None, success(true), None),
            (None, success(false), None),
            (None, prompt(), None),
            (None, result_of("call_1"), None),
            (Some(true), success(true), Some(TAKEN)),
            (Some(true), success(false), Some(NOT_FOUND)),
            (Some(true), gone(), Some(NOT_FOUND)),
            (Some(true), prompt(), Some(NOT_FOUND)),
            (Some(false), success(false), Some(TAKEN)),
            (Some(false), success(true), Some(NOT_FOUND)),
            (Some(false), gone(), Some(NOT_FOUND)),
            (Some(false), prompt(), Some(TAKEN)),
        ] {
            let mut files = files(&folder);
            opens(&mut files);
            sent.iter().for_each(|allowed| files.send(&reply(*allowed)).unwrap());
            let told = hears(&mut files, &line);
            let right = status.map_or(Incoming::Ended { id: id() }, |status| Incoming::Replied { id: id(), status });
            assert_eq!(told, [right], "{sent:?} {line}");
            assert!(hears(&mut files, &prompt()).is_empty(), "it is over");
        }
        let mut files = files(&folder);
        opens(&mut files);
        assert!(hears(&mut files, &result_of("call_2")).is_empty(), "another call");
        assert_eq!(begins(&mut files, PROTOCOL), [Incoming::Left { id: id() }], "Qwen has started again");
    }

    #[test]
    fn a_refusal_is_sent_again_until_qwen_says_that_nothing_waits() {
        let folder = tempfile::tempdir().unwrap();
        let mut files = files(&folder);
        opens(&mut files);
        files.send(&reply(false)).unwrap();
        let make_due = |files: &mut Files| files.sent.get_mut(&id()).unwrap().last -= AGAIN_AFTER;
        let lines = || std::fs::read_to_string(folder.path().join("replies")).unwrap().lines().count();
        files.send_again().unwrap();
        assert_eq!(lines(), 1, "it is not due");
        for _ in 0..2 * MOST {
            make_due(&mut files);
            files.send_again().unwrap();
        }
        assert_eq!(lines(), MOST as usize);
        let gone = refuses_reply("tool call is no longer awaiting approval");
        for _ in 1..MOST {
            assert!(hears(&mut files, &gone).is_empty(), "another error may follow");
        }
        make_due(&mut files);
        assert_eq!(files.send_again().unwrap(), [Incoming::Replied { id: id(), status: TAKEN }]);
        assert!(lines() == MOST as usize && hears(&mut files, &prompt()).is_empty(), "it is over");
        // The first one came too late, and its error comes after the second one was sent.
        opens(&mut files);
        files.send(&reply(false)).unwrap();
        make_due(&mut files);
        files.send_again().unwrap();
        assert!(hears(&mut files, &gone).is_empty());
        assert_eq!(hears(&mut files, &gone), [Incoming::Replied { id: id(), status: NOT_FOUND }]);
        // Another error tells nothing about the dialog.
        opens(&mut files);
        files.send(&reply(false)).unwrap();
        assert!(matches!(&hears(&mut files, &refuses_reply("no handler"))[..], [Incoming::Failed { id: Some(_), .. }]));
    }
}
