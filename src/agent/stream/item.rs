//! What one line of an agent's stream says.

use serde_json::Value;

use crate::agent::events::EventKind;
use crate::agent::stream::verdict::TurnOutcome;

/// What a line means to the supervisor.
#[derive(Debug, Clone, PartialEq)]
pub enum StreamItem {
    /// To be recorded.
    Event(EventKind),
    /// The session began (`first`), or began another turn. The transcript may not exist yet.
    Began {
        /// The session's id, from `init`.
        session_id: String,
        /// The model's name, from `init`.
        model: String,
        /// The version of the agent program: `claude_code_version` of `init`.
        version: String,
        /// The permission mode in force: `permissionMode` of `init`.
        permission_mode: String,
        /// The folder it works in, from `init`.
        cwd: String,
        /// Whether this is the first `init` of this process.
        first: bool,
    },
    /// The main agent's model answered another request: its answer's events follow, over one line or several.
    RoundTrip,
    /// What became of a message of ours, named by the uuid it bore.
    Receipt {
        /// The message: `command_uuid`.
        uuid: String,
        /// What became of it.
        state: ReceiptState,
    },
    /// The agent waits for this permission; nothing else happens until it is answered.
    Permission(PermissionRequest),
    /// The request needs no answer any more.
    PermissionCancelled {
        /// The request, as [`PermissionRequest::request_id`] named it.
        request_id: String,
    },
    /// The answer to a control request of ours.
    ControlReply {
        /// The request of ours that it answers.
        request_id: String,
        /// Whether it succeeded.
        ok: bool,
        /// Why not; empty if it succeeded.
        error: String,
        /// What came with it; null if there was nothing, or over 256 KiB.
        response: Value,
    },
    /// A turn ended. The event `result` comes with it.
    TurnEnded(Box<TurnOutcome>),
}

/// What became of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReceiptState {
    /// It is in the agent's queue.
    Queued,
    /// It was put into a request: the model is shown it.
    Started,
    /// Its turn is over; alone and first, after a resume: the session already had it, and it was dropped.
    Completed,
    /// Its turn was cut: by an interrupt, an API error or a limit.
    Cancelled,
}

/// The agent asks whether it may use a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct PermissionRequest {
    /// Names the request in the answer.
    pub request_id: String,
    /// The tool that it wants to use.
    pub tool_name: String,
    /// The tool's input, whole; null if `complete` is false.
    pub input: Value,
    /// False if the input is too large (over 256 KiB, or a string in it over the line limits) or too deep to be shown
    /// whole. A decision that looks at the input must then refuse.
    pub complete: bool,
    /// The tool call that waits for the decision.
    pub tool_use_id: String,
    /// The agent's own words about the call; empty if it gave none.
    pub description: String,
    /// Only a person can answer it: `AskUserQuestion`.
    pub requires_user_interaction: bool,
}
