//! The agent's replies to our requests, and what it says about itself.

use agent_client_protocol_schema::v1::InitializeResponse;
use serde_json::Value;

use crate::protocol::envelope::shaped;
use askbox_agent::stream::bounded::{NAME, head};
use askbox_agent::stream::wire::Raw;
use askbox_mailbox::Untrusted;

/// The version of the protocol that is spoken.
pub(super) const VERSION: u64 = 1;
/// The error code of an agent without a login.
pub const NOT_LOGGED_IN: i64 = -32000;
/// The errors of agents for a session that they do not have, as measured: claude, qwen and copilot reply -32002, kimi and pi -32602, codex,
/// opencode and gemini -32603.
pub const NO_SESSION: [i64; 3] = [-32002, -32602, -32603];

/// A request that askbox has made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// `initialize`.
    Initialize,
    /// `session/new`.
    New,
    /// `session/resume`.
    Resume,
    /// `session/load`.
    Load,
    /// `session/set_mode`.
    Mode,
    /// `session/prompt`.
    Prompt,
    /// `session/close`.
    Close,
}

impl Asked {
    /// The method.
    pub fn method(self) -> &'static str {
        match self {
            Self::Initialize => "initialize",
            Self::New => "session/new",
            Self::Resume => "session/resume",
            Self::Load => "session/load",
            Self::Mode => "session/set_mode",
            Self::Prompt => "session/prompt",
            Self::Close => "session/close",
        }
    }
}

/// The reply to a request of askbox. The end of a prompt is [`TurnEnded`](askbox_agent::stream::StreamItem::TurnEnded).
#[derive(Debug, Clone, PartialEq)]
pub enum AgentReply {
    /// The agent can do this.
    Initialized(AgentInfo),
    /// The session is open.
    Opened(Opened),
    /// The session has the mode.
    ModeSet,
    /// The request failed.
    Failed {
        /// The request.
        asked: Asked,
        /// The code of the error. With −32000, the agent is not logged in.
        code: i64,
        /// The agent's words, and the details that came with them.
        message: Untrusted,
    },
}

/// An agent's words about itself.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AgentInfo {
    /// The version of the protocol that it speaks.
    pub protocol: u64,
    /// Its name.
    pub name: Untrusted,
    /// Its version.
    pub version: Untrusted,
    /// Whether it can continue a session without playing its history back.
    pub can_resume: bool,
    /// Whether it can continue a session and play its history back.
    pub can_load: bool,
    /// Whether a session can be closed.
    pub can_close: bool,
    /// Whether it takes further folders for a session.
    pub takes_folders: bool,
}

impl AgentInfo {
    /// True if the agent speaks the version that is spoken here.
    pub fn is_understood(&self) -> bool {
        self.protocol == VERSION
    }

    /// Reads the reply to `initialize`.
    pub(super) fn of(result: Raw<'_>) -> Self {
        // A version that the types do not know is read all the same, so that it can be named.
        let protocol = shaped::<Value>(result).and_then(|all| all["protocolVersion"].as_u64()).unwrap_or(0);
        let Some(reply) = shaped::<InitializeResponse>(result) else { return Self { protocol, ..Self::default() } };
        let (name, version) = reply.agent_info.map(|info| (info.name, info.version)).unwrap_or_default();
        let can = reply.agent_capabilities;
        Self {
            protocol,
            name: head(&name, NAME).into(),
            version: head(&version, NAME).into(),
            can_resume: can.session_capabilities.resume.is_some(),
            can_load: can.load_session,
            can_close: can.session_capabilities.close.is_some(),
            takes_folders: can.session_capabilities.additional_directories.is_some(),
        }
    }
}

/// A session that was opened.
#[derive(Debug, Clone, PartialEq)]
pub struct Opened {
    /// How.
    pub how: Asked,
    /// Its id, in the agent's own words.
    pub session: String,
    /// The mode that it is in, if the agent names one.
    pub mode: Option<String>,
}

/// The code and the words of an error.
pub(super) fn error(raw: Raw<'_>) -> (i64, String) {
    let error = shaped::<Value>(raw).unwrap_or_default();
    let mut words = error["message"].as_str().unwrap_or("no message").to_owned();
    if let Some(data) = error.get("data").filter(|data| !data.is_null()) {
        let details = ["details", "message", "reason"].iter().find_map(|name| data[name].as_str());
        words.push_str(": ");
        words.push_str(&details.map_or_else(|| data.to_string(), str::to_owned));
    }
    (error["code"].as_i64().unwrap_or(0), head(&words, 4096).to_owned())
}
