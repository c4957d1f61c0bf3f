//! The items that one line of an agent's stream contains.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::events::EventKind;
use crate::stream::verdict::TurnOutcome;
use askbox_mailbox::Untrusted;

/// One item of a line. A line may have several.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StreamItem {
    /// An event for the run's log.
    Event(EventKind),
    /// The session began (`first`), or began another turn. The transcript may not exist yet.
    Began {
        /// The session's id, from `init`.
        session_id: Untrusted,
        /// The model's name, from `init`.
        model: Untrusted,
        /// The version of the agent program: `claude_code_version` of `init`.
        version: Untrusted,
        /// The permission mode in force: `permissionMode` of `init`.
        permission_mode: Untrusted,
        /// The working folder of the agent, from `init`.
        cwd: Untrusted,
        /// True if this is the first `init` of this process.
        first: bool,
    },
    /// The limit of the account's plan is reached. An event about the line precedes it.
    PlanLimit {
        /// When the limit is reset, in seconds since 1970.
        resets_at: u64,
        /// The limit, in the API's word: `five_hour`, `seven_day` … Empty if it has no name.
        limit: Untrusted,
    },
    /// The main agent's model answered another request. The events of the answer follow, from this line or from several.
    RoundTrip,
    /// The main agent's model is generating an answer.
    Generating(Generating),
    /// The progress of a message that askbox sent.
    Receipt {
        /// The uuid of the message.
        uuid: Untrusted,
        /// Its state.
        state: ReceiptState,
    },
    /// The agent asks for a permission, and waits until the request is answered.
    Permission(PermissionRequest),
    /// A server of the agent asks its user, and waits until the request is answered.
    Elicitation(Box<Elicitation>),
    /// The agent makes a request of an unknown kind, and waits for a reply all the same. An event about the line precedes it.
    UnknownRequest {
        /// The reply repeats this id.
        request_id: Untrusted,
    },
    /// The agent withdrew a request.
    RequestCancelled {
        /// The [`PermissionRequest::request_id`] or [`Elicitation::request_id`].
        request_id: Untrusted,
    },
    /// The reply to a control request that askbox sent.
    ControlReply {
        /// The id of the request.
        request_id: Untrusted,
        /// True if the request succeeded.
        ok: bool,
        /// The reason for its failure; empty if it succeeded.
        error: Untrusted,
        /// The content of the reply; null if it is missing or larger than 256 KiB.
        response: Value,
    },
    /// An adapter has made this request of its agent, and the session has not begun.
    Asked(String),
    /// A call has written this file. Only an adapter says so: the calls of `claude` name their files.
    Wrote(Untrusted),
    /// The adapter cannot give the agent its message, and ends.
    CannotBegin {
        /// The class of the failure, in the word of `run.json`; empty for one that another attempt may mend.
        class: String,
        /// The reason.
        why: String,
    },
    /// A turn ended. The event `result` precedes it.
    TurnEnded(Box<TurnOutcome>),
}

/// The output that a model is generating.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Generating {
    /// An answer, from its beginning. Output that was generated for it before is void.
    Answer,
    /// The next words of a text.
    Text(Untrusted),
    /// A thought.
    Thinking,
    /// The input of a tool call.
    ToolInput,
}

/// The progress of a message that askbox sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, strum::EnumString)]
#[strum(serialize_all = "snake_case")]
pub enum ReceiptState {
    /// The message is in the agent's queue.
    Queued,
    /// The message is in a request to the model.
    Started,
    /// The turn of the message is over. If this is the first receipt after a resume, the session already had the message and dropped it.
    Completed,
    /// The turn of the message was cut by an interrupt, an API error or a limit.
    Cancelled,
}

/// The agent asks whether it may use a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PermissionRequest {
    /// The id that the answer must carry.
    pub request_id: Untrusted,
    /// The tool that it wants to use.
    pub tool_name: Untrusted,
    /// The whole input of the tool; null if `complete` is false.
    pub input: Value,
    /// False if the input is nested too deep, is larger than 256 KiB, or has a string over [`Limits::string`]. A decision that depends
    /// on the input must then refuse.
    ///
    /// [`Limits::string`]: crate::stream::lines::Limits::string
    pub complete: bool,
    /// Why nobody needs to be asked: an adapter has found the rule of the configuration that allows the call. `claude` obeys its rules
    /// itself.
    pub needs_nobody: Option<String>,
    /// The working folder of the call, if the agent tells it here. The transcript of `claude` has it.
    pub cwd: Option<PathBuf>,
    /// The tool call that waits for the decision.
    pub tool_use_id: Untrusted,
    /// The agent's own words about the call; empty if it gave none.
    pub description: Untrusted,
    /// True if only a person can answer it, as with `AskUserQuestion`.
    pub requires_user_interaction: bool,
    /// The id of the subagent inside the session that makes the call. `None` if the session itself makes it.
    pub subagent: Option<Untrusted>,
}

/// The asker of an [`Elicitation`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Asker {
    /// An MCP server, by its name in the agent's configuration.
    Server(Untrusted),
    /// The agent itself.
    Agent,
    /// The agent itself or one of its MCP servers: the agent does not say which.
    AgentOrServer,
}

/// The reply to an [`Elicitation`].
#[derive(Debug, Clone, PartialEq)]
pub enum FormReply {
    /// The content of the form.
    Accept(Value),
    /// The user declines.
    Decline,
    /// Nobody has decided.
    Cancel,
}

impl FormReply {
    /// The reply as MCP and ACP spell it.
    pub fn to_json(&self) -> Value {
        match self {
            Self::Accept(content) => json!({ "action": "accept", "content": content }),
            Self::Decline => json!({ "action": "decline" }),
            Self::Cancel => json!({ "action": "cancel" }),
        }
    }
}

/// The agent, or an MCP server of it, asks its user: with a form, or to open an address.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Elicitation {
    /// The id that the answer must carry.
    pub request_id: Untrusted,
    /// The asker.
    pub asker: Asker,
    /// The asker's words.
    pub message: Untrusted,
    /// The address, if the user is to open one. There is no form then.
    pub url: Option<Untrusted>,
    /// The form's schema; null if it is missing, larger than 256 KiB, or shortened.
    pub schema: Value,
    /// The names of the form's fields in the server's order; null or empty if the schema has them in that order.
    pub order: Value,
    /// The names of the choices that may also be answered in the user's own words.
    pub own_words: Vec<String>,
}
