//! A request of a live agent that waits for a person.

use std::path::PathBuf;
use std::time::Instant;

use crate::asking::form::Form;
use crate::claim::inline::{Asked, Waiter};
use askbox_agent::stream::{Elicitation, PermissionRequest};
use askbox_mailbox::Question;

/// A request that has no question yet.
pub(super) enum Waiting {
    /// An MCP server, or the agent itself, asks with a form.
    Form(Box<Elicitation>),
    /// A tool call is stopped by the agent program's own rules. Its folder is looked for since this time, or not yet.
    Call(Box<PermissionRequest>, Option<Instant>),
}

impl Waiting {
    pub(super) fn id(&self) -> &str {
        match self {
            Self::Form(asked) => asked.request_id.raw(),
            Self::Call(asked, _) => asked.request_id.raw(),
        }
    }
}

/// A request that a person is asked about.
pub(super) enum Request {
    Form(Box<Elicitation>, Form),
    /// The folder is the call's working folder.
    Call(Box<PermissionRequest>, PathBuf),
}

impl Request {
    pub(super) fn id(&self) -> &str {
        match self {
            Self::Form(asked, _) => asked.request_id.raw(),
            Self::Call(asked, _) => asked.request_id.raw(),
        }
    }

    /// True if the run may end for this request's question, because a later session can go on with the answer. A subagent ends with the
    /// run.
    pub(super) fn outlasts_the_run(&self) -> bool {
        !matches!(self, Self::Call(asked, _) if asked.subagent.is_some())
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
