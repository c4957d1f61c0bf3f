//! One event of a run in words, for people.

use crate::agent::events::{Event, EventKind};
use crate::untrusted::Untrusted;
use crate::{text, time};

/// How far the second and later lines of a text are indented.
const NEXT_LINE: &str = "\n                   ";

/// One event as a line such as `12:03:44  tool    Bash  {"command": …}`. Empty for events that only programs need.
#[must_use]
pub fn words(event: &Event) -> String {
    let cut = |said: &Untrusted| said.excerpt(300);
    let name = |said: &Untrusted| said.excerpt(120);
    let lines = |said: &Untrusted| said.printable().trim_end().replace('\n', NEXT_LINE);
    let (what, said) = match &event.kind {
        EventKind::Started { session_id, model, resumed, .. } => {
            let continued = if resumed.is_some() { " (continued)" } else { "" };
            ("began", format!("session {} {}{continued}", name(session_id), name(model)))
        }
        EventKind::Text { text, .. } => ("says", lines(text)),
        EventKind::Thinking { .. } => ("thinks", String::new()),
        EventKind::ToolCall { name: tool, input, .. } => ("tool", format!("{}  {}", name(tool), text::excerpt(&input.to_string(), 300))),
        EventKind::ToolResult { is_error, text, bytes, .. } => {
            (if *is_error { "tool failed" } else { "tool done" }, format!("{} ({bytes} bytes)", cut(text)))
        }
        EventKind::Throttled { status, retry, delay_ms, error, .. } => (
            "throttled",
            format!(
                "{} {}, retry {retry} in {}.{}s",
                status.map(|s| s.to_string()).unwrap_or_default(),
                cut(error),
                delay_ms / 1000,
                delay_ms % 1000 / 100
            ),
        ),
        EventKind::Silent { seconds } => ("silent", format!("{seconds}s")),
        EventKind::QuestionPosted { workflow_id, .. } => ("asks", format!("answer it: ask-answer {} ANSWER", cut(workflow_id))),
        EventKind::Permission { tool, decision, .. } => ("permission", format!("{} {}", cut(decision), cut(tool))),
        EventKind::Interrupted { how, report, session_id, .. } => {
            let report = report.as_ref().map(|report| format!("{NEXT_LINE}{}", lines(report))).unwrap_or_default();
            ("stopped", format!("{}; session {}{report}", cut(how), session_id.as_ref().map_or("not begun".into(), name)))
        }
        EventKind::Result { is_error, text, turns, cost_usd, .. } => {
            let cost = cost_usd.map(|c| format!(", ${c:.4}")).unwrap_or_default();
            (if *is_error { "failed" } else { "result" }, format!("{} ({turns} turns{cost})", lines(text)))
        }
        EventKind::Parked { why } => ("parked", cut(why)),
        EventKind::Note { text } => ("note", cut(text)),
        EventKind::Raw { .. } | EventKind::Unknown => return String::new(),
    };
    format!("{}  {what:<9}{}{said}\n", time::rfc3339(event.at).get(11..19).unwrap_or_default(), if said.is_empty() { "" } else { " " })
}
