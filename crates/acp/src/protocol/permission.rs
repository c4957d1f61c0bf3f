//! A request of the agent for a permission, and the option that answers it.
//!
//! Options are chosen by their kind, and their id is sent back. The kind `allow_always` is never chosen, because it reaches further than
//! the session with some agents. If no option has the kind, or if several have it, the request is answered with `cancelled`: several
//! options of one kind are a question with choices, and nobody has chosen.

use agent_client_protocol_schema::v1::{PermissionOption, PermissionOptionKind};
use serde_json::{Value, json};

use crate::protocol::envelope;

/// The decision about a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// It is allowed once.
    Allow,
    /// It is refused.
    Refuse,
    /// Nobody decides.
    Cancel,
}

/// A request that waits for its reply.
#[derive(Debug)]
pub(super) struct WaitingCall {
    /// The id, as JSON.
    pub(super) id: String,
    pub(super) options: Vec<PermissionOption>,
}

impl WaitingCall {
    /// The reply, and the choice that it really makes. An allowed question of qwen has `answers`.
    pub(super) fn reply(&self, choice: Choice, answers: Option<Value>) -> (String, Choice) {
        let wanted = match choice {
            Choice::Allow => Some(PermissionOptionKind::AllowOnce),
            Choice::Refuse => Some(PermissionOptionKind::RejectOnce),
            Choice::Cancel => None,
        };
        match wanted.and_then(|kind| only(&self.options, kind)) {
            Some(option) => {
                let mut result = json!({ "outcome": { "outcome": "selected", "optionId": option } });
                answers.into_iter().for_each(|answers| result["answers"] = answers);
                (envelope::reply(&self.id, result), choice)
            }
            None => (cancelled(&self.id), Choice::Cancel),
        }
    }
}

/// The id of the only option of this kind.
fn only(options: &[PermissionOption], kind: PermissionOptionKind) -> Option<&str> {
    let mut fitting = options.iter().filter(|option| option.kind == kind);
    let first = fitting.next()?;
    fitting.next().is_none().then_some(&*first.option_id.0)
}

/// The reply that nobody decides.
pub(super) fn cancelled(id: &str) -> String {
    envelope::reply(id, json!({ "outcome": { "outcome": "cancelled" } }))
}
