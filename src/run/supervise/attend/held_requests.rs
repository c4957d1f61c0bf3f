//! The requests of a live agent that wait for a person.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::Instant;

use crate::agent::stream::{Elicitation, PermissionRequest};
use crate::disk::file_events::Hints;
use crate::id::QuestionId;
use crate::mailbox::Question;
use crate::run::claim::inline::{Asked, Waiter};
use crate::run::supervise::attend::elicited_form::Form;

/// All requests that wait.
#[derive(Default)]
pub(super) struct HeldRequests {
    /// The one whose question is posted.
    pub held: Option<Held>,
    /// Those behind it.
    pub behind: VecDeque<Waiting>,
    /// The question for which the run is being ended.
    pub ends_for: Option<QuestionId>,
    /// What wakes the supervisor when the question's files change; `None` while nothing waits, or if there are no file events.
    pub wakes: Option<Hints>,
    /// Whether a server was given the answer that this run brings.
    pub answer_was_given: bool,
}

impl HeldRequests {
    pub(super) fn is_empty(&self) -> bool {
        self.number() == 0
    }

    pub(super) fn number(&self) -> usize {
        self.behind.len() + usize::from(self.held.is_some())
    }
}

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

/// A request of which a person is asked.
pub(super) enum Request {
    Server(Box<Elicitation>, Form),
    /// The folder is the one in which the call is made.
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
pub(super) struct Held {
    pub request: Request,
    pub waiter: Waiter,
    pub asked: Asked,
    /// The question, to ask it anew.
    pub question: Question,
    pub until: Instant,
}
