//! The meaning of one line of the agent.

use crate::protocol::replies::AgentReply;
use askbox_agent::StreamItem;
use askbox_agent::stream::PermissionRequest;

/// A part of the meaning of one line of the agent.
#[derive(Debug, Clone, PartialEq, derive_more::From)]
pub enum Item {
    /// For the supervisor, as it is.
    #[from]
    Told(StreamItem),
    /// The agent asks whether it may make a call.
    Permission(Permission),
    /// The agent's reply to a request that askbox made.
    Replied(AgentReply),
    /// A line that the agent waits for, and that nobody has to decide about.
    Say(String),
}

/// The agent asks whether it may make a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Permission {
    /// The call, as a person decides about it.
    pub request: PermissionRequest,
    /// True if the call surely is one of a tool of askbox itself that needs no permission.
    pub is_own_tool: bool,
    /// True if the rules of askbox's configuration see all that the call does. If it is false, no rule may allow the call.
    pub is_plain: bool,
}
