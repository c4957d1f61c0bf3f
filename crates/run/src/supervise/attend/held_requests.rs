//! A request of a live agent that waits for a person.

use std::path::PathBuf;
use std::time::Instant;

use crate::claim::inline::{Asked, Waiter};
use crate::supervise::attend::elicited_form::Form;
use askbox_agent::stream::{Elicitation, PermissionRequest};
use askbox_mailbox::Question;

/// A request that has no question yet.
pub(super) enum Waiting {
    /// An MCP server asks.
    Server(Box<Elicitation>),
    /// A tool call is stopped by the agent program's own rules.
    Call(Box<PermissionRequest>, Instant),
}

impl Waiting {
    pub(super) fn id(&self) -> &str {
        match self {
            Self::Server(asked) => asked.request_id.raw(),
            Self::Call(asked, _) => asked.request_id.raw(),
        }
    }
}

/// A request that a person is asked about.
pub(super) enum Request {
    Server(Box<Elicitation>, Form),
    /// The folder is the call's working folder.
    Call(Box<PermissionRequest>, PathBuf),
}

impl Request {
    pub(super) fn id(&self) -> &str {
        match self {
            Self::Server(asked, _) => asked.request_id.raw(),
            Self::Call(asked, _) => asked.request_id.raw(),
        }
    }
}

/// A request whose question is posted.
pub(super) struct HeldRequest {
    pub(super) request: Request,
    pub(super) waiter: Waiter,
    pub(super) asked: Asked,
    /// The question, so that it can be asked anew.
    pub(super) question: Question,
    pub(super) until: Instant,
}
