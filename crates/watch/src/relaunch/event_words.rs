//! Describes one event of a run, for people.

use askbox_agent::{Event, EventKind};
use askbox_cli::program;
use askbox_mailbox::{Time, Untrusted, text, time};
use askbox_run::activity::live::throttled_by;

/// The format of an event's time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// `12:03:44`, in the local time zone: for a person at a terminal.
    Local,
    /// RFC 3339, UTC: for output that is kept or read by programs.
    Utc,
}

impl Clock {
    /// The clock for standard output.
    pub fn of_output() -> Self {
        if program::prints_to_terminal() { Self::Local } else { Self::Utc }
    }

    fn tell(self, at: Time) -> String {
        match self {
            Self::Local => time::local_clock(at),
            Self::Utc => time::rfc3339(at),
        }
    }
}

/// The width of the column that says what happened.
const WHAT: usize = 9;

/// One event as a line such as `12:03:44  tool      Bash  {"command": …}`. Empty for events that only programs need.
pub fn words(event: &Event, clock: Clock) -> String {
    let at = clock.tell(event.at);
    let next_line = format!("\n{:1$}", "", at.len() + 2 + WHAT + 1);
    let cut = |said: &Untrusted| said.excerpt(300);
    let name = |said: &Untrusted| said.excerpt(120);
    let lines = |said: &Untrusted| said.printable().trim_end().replace('\n', &next_line);
    let seconds = |ms: u64| format!("{}.{}s", ms / 1000, ms % 1000 / 100);
    let (what, said) = match &event.kind {
        EventKind::Started { program: Some(program), .. } => ("began", format!("program {}", name(program))),
        EventKind::Started { session_id, model, resumed, version, .. } => {
            let continued = if resumed.is_some() { " (continued)" } else { "" };
            let version = if version.raw().is_empty() { String::new() } else { format!(", version {}", name(version)) };
            ("began", format!("session {} {}{continued}{version}", name(session_id), name(model)))
        }
        EventKind::Text { text, .. } => ("says", lines(text)),
        EventKind::Thinking { .. } => ("thinks", String::new()),
        EventKind::ToolCall { name: tool, input, .. } => ("tool", format!("{}  {}", name(tool), text::excerpt(&input.to_string(), 300))),
        EventKind::ToolResult { is_error, text, bytes, .. } => {
            (if *is_error { "error" } else { "output" }, format!("{} ({bytes} bytes)", cut(text)))
        }
        EventKind::Throttled { status, retry, delay_ms, error, .. } => {
            let reason = throttled_by(*status, error);
            // The reason for the end of an attempt already contains the status.
            let error = cut(error);
            let said = match status {
                Some(_) if !error.contains(&reason) => format!("{reason} {error}"),
                Some(_) => error,
                None => reason,
            };
            ("throttled", format!("{said}, retry {retry} in {}", seconds(*delay_ms)))
        }
        EventKind::Retrying { status, retry, delay_ms, error, .. } => {
            ("retrying", format!("{status} {}, retry {retry} in {}", cut(error), seconds(*delay_ms)))
        }
        EventKind::Silent { seconds } => ("silent", format!("{seconds}s")),
        EventKind::QuestionPosted { workflow_id, .. } => ("asks", format!("answer it: ask-answer {} ANSWER", cut(workflow_id))),
        EventKind::Permission { tool, decision, rule, .. } => {
            let rule = rule.as_ref().map(|rule| format!(" (permitted by: {})", cut(rule))).unwrap_or_default();
            ("permission", format!("{} {}{rule}", cut(decision), cut(tool)))
        }
        EventKind::Interrupted { how, report, session_id, .. } => {
            let report = report.as_ref().map(|report| format!("{next_line}{}", lines(report))).unwrap_or_default();
            let session = session_id.as_ref().map(|id| format!("; session {}", name(id))).unwrap_or_default();
            ("stopped", format!("{}{session}{report}", cut(how)))
        }
        EventKind::Result { is_error, text, turns, cost_usd, terminal_reason, .. } => {
            let cost = cost_usd.map(|c| format!("${c:.4}"));
            // A plain program has no turns.
            let turns = (*turns > 0).then(|| format!("{turns} {}", if *turns == 1 { "turn" } else { "turns" }));
            let spent: Vec<_> = turns.into_iter().chain(cost).collect();
            let spent = if spent.is_empty() { String::new() } else { format!(" ({})", spent.join(", ")) };
            // The next event says who cut the turn.
            let is_cut = terminal_reason.as_ref().is_some_and(|reason| *reason == "aborted_tools" || *reason == "aborted_streaming");
            (
                match is_error {
                    true if is_cut => "cut",
                    true => "failed",
                    false => "result",
                },
                lines(text) + &spent,
            )
        }
        EventKind::Parked { why } => ("parked", cut(why)),
        EventKind::Note { text } => note(&cut(text)),
        EventKind::Generating { .. } | EventKind::Partial { .. } | EventKind::Raw { .. } | EventKind::Unknown => return String::new(),
    };
    format!("{at}  {what:<WHAT$}{}{said}\n", if said.is_empty() { "" } else { " " })
}

/// A note of the supervisor. The steps of stopping a run get words of their own.
fn note(text: &str) -> (&'static str, String) {
    let step = match text.strip_prefix("ladder: ") {
        None => return ("note", text.to_owned()),
        Some("in-band interrupt") => "the agent is told to stop",
        Some("SIGTERM") => "the agent is asked to end, with its tools (SIGTERM)",
        Some("the whole tree is killed") => "the agent and all its processes are killed",
        Some(step) => step.strip_prefix("boundary: ").unwrap_or(step),
    };
    ("stopping", step.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use askbox_run::supervise::ladder::Rung;

    #[test]
    fn the_steps_of_stopping_a_run_are_told_in_plain_words() {
        for rung in [Rung::Boundary, Rung::Interrupt, Rung::Terminate, Rung::Kill] {
            let (what, step) = note(&format!("ladder: {}", rung.word()));
            assert!(what == "stopping" && (step.starts_with("the agent ") || step.starts_with("the tool call ")), "{step}");
        }
        assert_eq!(note("in a fork"), ("note", "in a fork".to_owned()));
    }
}
