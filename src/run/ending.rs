//! The end of an attempt: delivered, tried again later, or parked. A receipt is the agent's own final result, never an exit code.

use std::time::Duration;

use super::record::{self, Run, State};
use crate::agent::stream::{TurnOutcome, Verdict};
use crate::config::Config;
use crate::disk::{self, Placed};
use crate::error::Result;
use crate::id::RoundId;
use crate::mailbox::audit::{self, Entry};
use crate::mailbox::question::Closed;
use crate::mailbox::timers::{Due, Timer};
use crate::mailbox::{Folder, Mailbox, close};
use crate::text;
use crate::time;

/// Kept of the agent's final text in `run.json`, in characters; all of it is in `events.jsonl`.
const RESULT_TEXT: usize = 4000;

/// How an attempt ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Ending {
    /// Our session began and its final result came.
    Delivered {
        /// The agent's last words.
        text: String,
        /// US dollars, if told.
        cost_usd: Option<f64>,
    },
    /// It may go better next time.
    Failed {
        /// What happened.
        why: String,
    },
    /// It will not go better by itself.
    Hopeless {
        /// What happened.
        why: String,
    },
    /// Somebody stopped it, or a limit did.
    Interrupted {
        /// Who or what.
        why: String,
    },
}

impl Ending {
    /// What the agent's verdict on its turn means for the round.
    #[must_use]
    pub fn of_turn(turn: &TurnOutcome) -> Self {
        let failed = |why: String| Self::Failed { why };
        let hopeless = |why: String| Self::Hopeless { why };
        match &turn.verdict {
            Verdict::Completed { text } if !turn.is_error => Self::Delivered { text: text.clone(), cost_usd: turn.cost_usd },
            Verdict::Completed { text } => failed(format!("the agent ended with an error: {}", text::excerpt(text, 300))),
            Verdict::HookStopped => Self::Delivered { text: turn.text.clone(), cost_usd: turn.cost_usd },
            Verdict::Deferred { tool_name, .. } => {
                hopeless(format!("the agent deferred its call of {tool_name}, which this version cannot answer"))
            }
            Verdict::Interrupted { .. } => Self::Interrupted { why: "the turn was interrupted".into() },
            Verdict::ApiError { status, error_type, message } => {
                let why = format!("API error{}: {}", status.map(|s| format!(" {s}")).unwrap_or_default(), text::excerpt(message, 300));
                // What waiting mends: overload, rate limits, a lost connection. What it does not: a wrong key, a wrong request.
                let permanent =
                    matches!(status, Some(400 | 401 | 403 | 404 | 413)) || error_type.contains("auth") || error_type.contains("billing");
                if permanent { hopeless(why) } else { failed(why) }
            }
            Verdict::MaxTurns => hopeless("the agent reached its limit of turns".into()),
            Verdict::Budget => hopeless("the agent reached its budget".into()),
            Verdict::TooLong => hopeless("the prompt is too long for the agent".into()),
            Verdict::ResumeUnknown => failed("the agent does not know the session".into()),
            // A failure can call itself `success` there.
            Verdict::Other { subtype, message, .. } if subtype != "success" => {
                failed(format!("{subtype}: {}", text::excerpt(message, 300)))
            }
            Verdict::Other { message, .. } => failed(text::excerpt(message, 300)),
        }
    }
}

/// Makes an ending durable: the attempt's record, then the round's folder. The caller holds the round's lock.
pub fn finish(mailbox: &Mailbox, config: &Config, mut run: Run, ending: &Ending) -> Result<Run> {
    let lock = mailbox.lock(&run.workflow_id)?;
    let round = run.round();
    let used_up = run.attempt >= config.relaunch.attempts;
    run.ended_at = Some(time::now());
    run.retry_at = None;
    match ending {
        Ending::Delivered { text, cost_usd } => {
            run.state = State::Delivered;
            run.why = None;
            run.result = Some(shorten(text));
            run.cost_usd = *cost_usd;
        }
        Ending::Failed { why } if !used_up => {
            run.state = State::Failed;
            run.why = Some(why.clone());
            run.retry_at = Some(later(config.relaunch.pause(run.attempt)));
        }
        Ending::Failed { why } => {
            run.state = State::Parked;
            run.why = Some(format!("{why} (attempt {} of {})", run.attempt, config.relaunch.attempts));
        }
        Ending::Hopeless { why } => {
            run.state = State::Parked;
            run.why = Some(why.clone());
        }
        Ending::Interrupted { why } => {
            run.state = State::Interrupted;
            run.why = Some(why.clone());
        }
    }
    record::write(mailbox, &run)?;
    let why = run.why.clone().unwrap_or_default();
    match run.state {
        State::Delivered => close::from_claimed(mailbox, &lock, Folder::Running, run.question_id, Closed::Delivered, "supervisor", None)?,
        State::Failed => {
            audit::record(mailbox, Entry::of("failed", &round).by("supervisor").why(&why));
            if let Some(at) = run.retry_at {
                Timer { at, due: Due::Retry, round }.arm(mailbox)?;
            }
        }
        _ => park(mailbox, &round, &why)?,
    }
    Ok(run)
}

fn later(pause: Duration) -> time::Time {
    time::now() + chrono::TimeDelta::from_std(pause).unwrap_or_default()
}

fn shorten(text: &str) -> String {
    match text.char_indices().nth(RESULT_TEXT) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// `running/` → `parked/`: visible, and nobody touches it until it is retried or dropped. The caller holds the workflow's lock.
pub fn park(mailbox: &Mailbox, round: &RoundId, why: &str) -> Result<()> {
    if disk::rename(&mailbox.round(Folder::Running, round), &mailbox.round(Folder::Parked, round))? == Placed::Done {
        audit::record(mailbox, Entry::of("parked", round).by("supervisor").why(why));
    }
    Ok(())
}
