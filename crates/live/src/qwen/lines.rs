//! The lines of Qwen that matter.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::wire::RequestId;

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
