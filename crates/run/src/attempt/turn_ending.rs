//! The ending that the outcome of an agent's turn means.

use crate::attempt::ending::Ending;
use crate::attempt::failure::{self, Class, PlanLimit};
use askbox_agent::stream::{TurnOutcome, Verdict};
use askbox_mailbox::time;
use askbox_mailbox::untrusted::Untrusted;

impl Ending {
    /// The ending that the outcome of the agent's turn means.
    pub fn of_turn(turn: &TurnOutcome) -> Self {
        let delivered = |text: &Untrusted| Self::Delivered { text: text.clone(), cost_usd: turn.cost_usd };
        let why = match &turn.verdict {
            Verdict::Completed { text } if !turn.is_error => return delivered(text),
            Verdict::HookStopped if !turn.text.is_empty() => return delivered(&turn.text),
            Verdict::HookStopped => "a hook of the agent's own settings ended the turn, and the agent gave no result".into(),
            Verdict::Blocked { message } => {
                format!("a hook of the agent's own settings blocked the message, and no model was asked: {}", message.excerpt(300))
            }
            Verdict::Interrupted { .. } => return Self::Interrupted { why: "the turn was interrupted".into(), class: None },
            Verdict::Completed { text } => format!("the agent ended with an error: {}", text.excerpt(300)),
            Verdict::Deferred { tool_name, .. } => {
                format!("the agent's call of {} was deferred by a hook that is not askbox's", tool_name.excerpt(80))
            }
            Verdict::ApiError { status, message, .. } => {
                format!("API error{}: {}", status.map(|s| format!(" {s}")).unwrap_or_default(), message.excerpt(300))
            }
            Verdict::Unclear { why, .. } => format!("nothing shows that the agent has done its work: {}", why.excerpt(300)),
            Verdict::MaxTurns => "the agent reached its limit of turns".into(),
            Verdict::Budget => "the agent reached its budget".into(),
            Verdict::TooLong => "the prompt is too long for the agent".into(),
            Verdict::NotStarted { reason, message } => {
                format!("the agent did not start ({}): {}", reason.excerpt(60), message.excerpt(300))
            }
            Verdict::ResumeUnknown => "the agent does not know the session".into(),
            // The agent may report a failure with the subtype `success`.
            Verdict::Other { subtype, message, .. } if *subtype != "success" => {
                format!("{}: {}", subtype.excerpt(80), message.excerpt(300))
            }
            Verdict::Other { message, .. } => message.excerpt(300),
        };
        match failure::of_turn(turn) {
            Some(Class::Throttled) => {
                let status = match &turn.verdict {
                    Verdict::ApiError { status, .. } => *status,
                    _ => None,
                };
                let wait = failure::asked_to_wait(turn.text.raw(), time::now().timestamp());
                let throttled = Self::Throttled { wait, status, why, resets_at: None };
                throttled.at_limit(PlanLimit::in_message(turn.text.raw()).as_ref())
            }
            Some(Class::Agent) | None => Self::Failed { why },
            Some(class) => Self::Refused { class, why },
        }
    }
}
