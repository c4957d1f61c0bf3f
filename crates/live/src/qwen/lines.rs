//! The lines of Qwen that matter.
//!
//! A permission of Qwen, as the call that a person is shown. A request in a form that is not known here is left to its terminal.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::request::{self, not_known, not_told, with_fields_beside};
use crate::wire::{Asked, RequestId};
use askbox_mailbox::Result;
use askbox_mailbox::programs::QWEN;
use askbox_run::{Request, Subject};

/// A line of Qwen's events.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Line {
    /// A session begins or ends.
    System {
        #[serde(default)]
        subtype: String,
        #[serde(default)]
        data: Value,
    },
    /// A prompt of the person, or the results of tools.
    User {
        /// The call of a subagent, if the line is about one.
        parent_tool_use_id: Option<String>,
        #[serde(default)]
        message: Value,
    },
    /// A dialog has opened.
    ControlRequest { request_id: RequestId, request: Map<String, Value> },
    /// The end of a request, or an error.
    ControlResponse { response: Response },
    /// All others.
    #[serde(other)]
    Other,
}

/// The end of a request, or an error.
#[derive(Debug, Deserialize)]
#[serde(tag = "subtype", rename_all = "snake_case")]
pub(super) enum Response {
    /// Somebody has decided: this process, or the person at the terminal.
    Success { request_id: RequestId, response: QwenDecision },
    /// Qwen did not take a reply.
    Error {
        request_id: RequestId,
        #[serde(default)]
        error: String,
    },
}

#[derive(Debug, Deserialize)]
pub(super) struct QwenDecision {
    pub(super) allowed: bool,
}

/// The begin of a session.
#[derive(Debug, Deserialize)]
pub(super) struct Begin {
    pub(super) session_id: String,
    pub(super) cwd: String,
    pub(super) protocol_version: u32,
}

impl Response {
    /// True if Qwen says that the call does not wait any more. Otherwise it has another reason, and the dialog may still be open.
    pub(super) fn is_gone(error: &str) -> bool {
        error.contains("no longer awaiting approval") || error.contains("unknown request_id")
    }
}

/// The ids of the calls whose results are in a message. `None` if it is a prompt: a new turn.
pub(super) fn results(message: &Value) -> Option<Vec<&str>> {
    let blocks = message["content"].as_array()?;
    blocks.iter().map(|block| block["tool_use_id"].as_str().filter(|_| block["type"] == "tool_result")).collect()
}

/// The subtype of a request for a permission.
pub(super) const EVENT: &str = "can_use_tool";
/// The field with the id, which Qwen writes beside the request.
pub(super) const ID: &str = "request_id";
/// The labels of a permission. They tell the kind of the dialog: a command, an edit, a tool of an MCP server, a page to fetch.
const PERMISSIONS: [&str; 4] = ["Allow Command", "Allow Edit", "Allow MCP Call", "Allow Info Request"];
/// The dialogs whose answer is not a yes or a no: a question of the agent, and a plan. Qwen takes nothing else from here, so they are
/// left to the terminal.
const LEFT: [&str; 2] = ["ask_user_question", "exit_plan_mode"];
/// The fields that say nothing beside the call's input.
const DERIVED: [&str; 6] = [ID, "subtype", "tool_name", "tool_use_id", "input", SUGGESTIONS];
const SUGGESTIONS: &str = "permission_suggestions";

/// True if only the person at the terminal can answer this dialog.
pub(super) fn is_left_to_the_terminal(request: &Map<String, Value>) -> bool {
    request.get("tool_name").and_then(Value::as_str).is_some_and(|tool| LEFT.contains(&tool))
}

/// Reads a request.
///
/// # Errors
/// If it is not one that a person can answer here.
pub(crate) fn read(asked: Asked) -> Result<(RequestId, Request)> {
    let Asked { event, request: said, session, root, part } = asked;
    let not_known = |what: &str| not_known("Qwen", what);
    if event != EVENT {
        return Err(not_known(&event));
    }
    let id = said.get(ID).and_then(Value::as_str).and_then(|id| RequestId::try_from(id.to_owned()).ok());
    let (Some(id), Some(part)) = (id, part) else { return Err(not_told(QWEN.name)) };
    let allow = said.get(SUGGESTIONS).map_or(&Value::Null, |all| &all[0]);
    let label = allow["label"].as_str().unwrap_or_default();
    if allow["type"] != "allow" || !PERMISSIONS.contains(&label) {
        return Err(not_known(&format!("a permission with the label {label:?}")));
    }
    let words = allow["description"].as_str().unwrap_or_default().to_owned();
    let mut said = said;
    said.retain(|name, value| !value.is_null() && !DERIVED.contains(&name.as_str()));
    // It has the warnings that the terminal shows.
    let command = part.state.input.get("command").and_then(Value::as_str);
    if command.is_none_or(|command| words != format!("Execute: {command}")) {
        said.insert("dialog".into(), words.into());
    }
    let input = with_fields_beside(QWEN.name, part.state.input, said)?;
    request::of(&QWEN, id, Subject::Call, (part.tool, input), (&session, &root))
}
