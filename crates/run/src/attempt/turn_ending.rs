//! The ending that the outcome of an agent's turn means.
//!
//! The meaning of a plain program's exit status for its round.
//!
//! | status | the round |
//! |---|---|
//! | 0 | is delivered |
//! | 6 | is delivered if the workflow has asked since the claim; otherwise the attempt has failed |
//! | 75 | is tried again later, and the attempt does not count |
//! | 2, 5 | is parked: another attempt would end in the same way |
//! | any other, or a signal | is tried again, up to `relaunch.attempts` |

use crate::attempt::ending::{Ending, Then};
use crate::attempt::failure::{self, Class, PlanLimit};
use askbox_agent::program::{AWAITS, Exit};
use askbox_agent::stream::{TurnOutcome, Verdict};
use askbox_mailbox::{Untrusted, time};

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
                let status = if let Verdict::ApiError { status, .. } = &turn.verdict { *status } else { None };
                let wait = failure::asked_to_wait(turn.text.raw(), time::now().timestamp());
                let throttled = Self::Throttled { wait, status, why, resets_at: None };
                let limit = failure::reset_in(turn.text.raw()).and_then(|at| PlanLimit::new(at, &Untrusted::default()));
                throttled.at_limit(limit.as_ref())
            }
            Some(Class::Agent) | None => Self::Failed { why },
            Some(class) => Self::Refused { class, why },
        }
    }
}

/// The exit status of an attempt that does not count: `EX_TEMPFAIL` of sysexits.h.
pub(crate) const LATER: u8 = 75;

/// The ending that the exit of a program means. `text` is its result, `complaint` the last line of its standard error.
pub fn ending(exit: &Exit, text: Untrusted, cost_usd: Option<f64>, complaint: impl FnOnce() -> String) -> Ending {
    let (then, meaning) = match exit.status {
        Some(0) => return Ending::Delivered { text, cost_usd },
        Some(AWAITS) => return Ending::Awaits { text, cost_usd },
        Some(status) if status == i32::from(LATER) => (Then::Later, "asks to be started later"),
        Some(2) => (Then::Never, "cannot work with its arguments"),
        Some(5) => (Then::Never, "cannot work with this round or with its state"),
        _ => (Then::Retry, "failed"),
    };
    let complaint = complaint();
    let complaint = if complaint.is_empty() { complaint } else { format!(": {complaint}") };
    Ending::Undone { then, why: format!("the program {meaning} ({}){complaint}", exit.words), exit: exit.status, signal: exit.signal }
}
