//! A permission of Qwen, as the call that a person is shown. A request in a form that is not known here is left to its terminal.

use serde_json::{Map, Value};

use crate::request::{self, not_known, not_told, with_fields_beside};
use crate::wire::{Asked, RequestId};
use askbox_mailbox::Result;
use askbox_mailbox::programs::QWEN;
use askbox_run::{Request, Subject};

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
