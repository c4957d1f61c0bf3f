//! How an attempt ended, once its agent has.

use std::time::Duration;

use crate::attempt::ending::{Ending, Then};
use crate::attempt::failure::{Class, PlanLimit};
use crate::process::launch;
use crate::supervise::started_agent::RunningAgent;
use askbox_agent::events::EventKind;
use askbox_mailbox::untrusted::Untrusted;

/// How long to wait for the last line of the agent's standard error, which is drained by now. A busy machine may need a while.
pub(super) const COMPLAINT_PATIENCE: Duration = Duration::from_secs(20);

/// How an attempt ended.
pub(crate) struct Attended {
    pub(crate) ending: Ending,
    /// The event that is recorded when no process of the run is left.
    pub(crate) last_event: Option<EventKind>,
}

impl From<Ending> for Attended {
    fn from(ending: Ending) -> Self {
        Self { ending, last_event: None }
    }
}

/// The outcome of the turns so far.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    /// The ending that the last turn means for the round.
    pub(super) turn_ending: Option<Ending>,
    /// Whether a tool call was refused because the run is to stop.
    pub(super) tool_refused: bool,
    /// How long the API last asked to wait.
    pub(super) asked_to_wait: Option<Duration>,
    /// The limit of the account's plan that is reached.
    pub(super) plan_limit: Option<PlanLimit>,
    /// The agent's text in the turn that was stopped, if it was asked for a report after it.
    pub(super) text_before_report: Option<Untrusted>,
}

impl Outcome {
    /// True if no turn has ended yet.
    pub(super) fn is_open(&self) -> bool {
        self.turn_ending.is_none()
    }

    /// Notes the ending that a turn means for the round. A session that was resumed with a suspended tool call has two turns: one for
    /// that call, and one for the message that carries the answer. The later of them is the result.
    pub(super) fn note_turn(&mut self, ending: Ending) {
        if ending.is_delivered() || !self.turn_ending.as_ref().is_some_and(Ending::is_delivered) {
            self.turn_ending = Some(ending);
        }
    }

    /// Returns how the attempt ended. `stop_ending` is the meaning of the stop for the round, if the run was to stop. `began` is true
    /// if the chosen session has begun.
    pub(super) fn conclude(
        self,
        agent: &RunningAgent,
        stop_ending: Option<Ending>,
        began: bool,
        exit_status: &str,
        unread_line: Option<&Untrusted>,
    ) -> Attended {
        let was_stopped = stop_ending.is_some();
        let ending = match (self.turn_ending, stop_ending) {
            (Some(delivered), _) if delivered.is_delivered() && began => delivered,
            (Some(delivered), None) if delivered.is_delivered() => {
                Ending::Failed { why: "a result came, but nothing shows that it is of the chosen session".into() }
            }
            (_, Some(stopped)) => stopped,
            (Some(other), None) => other,
            (None, None) => {
                // The last words of the agent are usually the reason.
                let words = last_words(agent, unread_line);
                let why = format!("the agent ended without a result ({exit_status}){words}");
                match launch::is_replaced(words.trim_start_matches(": ")) {
                    true => Ending::Undone { then: Then::Later, why, exit: None, signal: None },
                    false => Ending::Failed { why },
                }
            }
        };
        let why = match &ending {
            Ending::Interrupted { why, .. } => Some(why),
            Ending::Refused { why, .. } if was_stopped => Some(why),
            // The agent program stopped by itself in the middle of the work, so its text so far is reported like that of a stopped agent.
            Ending::Refused { class: Class::Turns, why } => Some(why),
            _ => None,
        };
        let last_event = why.map(|why| agent.interrupted(why)).map(|event| with_report(event, self.text_before_report));
        Attended { ending, last_event }
    }
}

/// Returns `: LINE` with the last line of the agent's standard error, which is usually the reason of its end. If that is empty, the line is
/// the last one of its output that could not be read.
pub(super) fn last_words(agent: &RunningAgent, unread_line: Option<&Untrusted>) -> String {
    let complaint = Some(agent.last_complaint(COMPLAINT_PATIENCE)).filter(|line| !line.is_empty());
    let line = complaint.or_else(|| Some(unread_line?.excerpt(300)).filter(|line| !line.is_empty()));
    line.map_or_else(String::new, |line| format!(": {line}"))
}

/// If the agent was asked for a report, its last text is that report, and the event's text is what it wrote before.
fn with_report(event: EventKind, text_before_report: Option<Untrusted>) -> EventKind {
    match (event, text_before_report) {
        (EventKind::Interrupted { how, text, tool_calls, tool_calls_omitted, files_touched, session_id, .. }, Some(before)) => {
            let report = Some(text).filter(|t| !t.is_empty());
            EventKind::Interrupted { how, text: before, report, tool_calls, tool_calls_omitted, files_touched, session_id }
        }
        (event, _) => event,
    }
}
