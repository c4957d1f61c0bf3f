//! How an attempt ended, once its agent has.

use std::time::Duration;

use crate::agent::events::EventKind;
use crate::run::attempt::ending::Ending;
use crate::run::attempt::failure::Class;
use crate::run::supervise::attend::attendance::Attendance;
use crate::untrusted::Untrusted;

/// How long the end of the agent's standard error is waited for: a surviving descendant may hold it open for ever.
const COMPLAINT_PATIENCE: Duration = Duration::from_secs(2);

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

impl Attendance<'_, '_> {
    pub(super) fn conclude(self, exit_status: &str) -> Attended {
        let was_stopped = self.stop_ending.is_some();
        let ending = match (self.turn_ending, self.stop_ending) {
            (Some(delivered), _) if delivered.is_delivered() && self.began => delivered,
            (Some(delivered), None) if delivered.is_delivered() => {
                Ending::Failed { why: "a result came, but of another session than the chosen one".into() }
            }
            (_, Some(stopped)) => stopped,
            (Some(other), None) => other,
            (None, None) => {
                // The last line of the agent's standard error is usually the reason.
                let complaint = self.agent.last_complaint(COMPLAINT_PATIENCE);
                let complaint = if complaint.is_empty() { complaint } else { format!(": {complaint}") };
                Ending::Failed { why: format!("the agent ended without a result ({exit_status}){complaint}") }
            }
        };
        let why = match &ending {
            Ending::Interrupted { why, .. } => Some(why),
            Ending::Refused { why, .. } if was_stopped => Some(why),
            // The agent program stopped by itself, in the middle of the work: what it had is told like that of a stopped one.
            Ending::Refused { class: Class::Turns, why } => Some(why),
            _ => None,
        };
        let last_event = why.map(|why| self.agent.interrupted(why)).map(|event| with_report(event, self.text_before_report));
        Attended { ending, last_event }
    }
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
