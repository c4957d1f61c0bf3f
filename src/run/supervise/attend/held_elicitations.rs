//! What a run holds of the questions of MCP servers.

use std::collections::VecDeque;
use std::time::Instant;

use crate::agent::stream::Elicitation;
use crate::id::RoundId;
use crate::run::claim::inline::Waiter;
use crate::run::supervise::attend::elicited_form::Form;

/// The requests of servers: the one whose question is posted, and those behind it.
#[derive(Default)]
pub(super) struct Elicitations {
    pub held: Option<Held>,
    pub behind: VecDeque<Elicitation>,
}

/// A request whose question is posted.
pub(super) struct Held {
    pub asked: Elicitation,
    pub form: Form,
    pub waiter: Waiter,
    pub round: RoundId,
    pub until: Instant,
}
