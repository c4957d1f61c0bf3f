//! A request of a live agent that waits for a person.

use std::path::PathBuf;
use std::time::Instant;

use crate::asking::form::Form;
use crate::asking::hold::Held;
use askbox_agent::stream::{Elicitation, PermissionRequest};
use askbox_mailbox::{Error, Question};

/// What a live agent, or a server of it, asks.
#[derive(Clone, Copy)]
pub(super) enum Asked<'a> {
    Form(&'a Elicitation),
    Call(&'a PermissionRequest),
}

/// The question to ask in place of one whose answer does not do, and why.
pub(super) type Again = Option<(Question, String)>;

/// Why nobody decides about a request.
pub(super) enum Undecided<'a> {
    /// Nobody could be asked, for this reason.
    NotAsked(&'a str),
    /// Its question could not be posted.
    NotPosted(&'a Error),
    /// Its question ended without an answer.
    Ended(&'a Question),
    /// The time of the hold is over.
    Late,
}

impl<'a> Asked<'a> {
    pub(super) fn id(self) -> &'a str {
        match self {
            Self::Form(asked) => asked.request_id.raw(),
            Self::Call(asked) => asked.request_id.raw(),
        }
    }
}

/// A request that has no question yet.
pub(super) enum Unasked {
    /// An MCP server, or the agent itself, asks with a form.
    Form(Box<Elicitation>),
    /// A tool call is stopped by the agent program's own rules. Its folder is looked for since this time, or not yet.
    Call(Box<PermissionRequest>, Option<Instant>),
}

impl Unasked {
    pub(super) fn asked(&self) -> Asked<'_> {
        match self {
            Self::Form(asked) => Asked::Form(asked),
            Self::Call(asked, _) => Asked::Call(asked),
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
    pub(super) fn asked(&self) -> Asked<'_> {
        match self {
            Self::Form(asked, _) => Asked::Form(asked),
            Self::Call(asked, _) => Asked::Call(asked),
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
    pub(super) held: Held,
    pub(super) until: Instant,
}
