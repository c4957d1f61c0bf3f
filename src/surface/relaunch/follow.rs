//! Reading along: the events of a workflow's newest run, as words or as JSON Lines, over all its attempts. Every line is printed
//! once; following ends with the run.

use crate::agent::events::{Event, EventKind};
use crate::error::{Error, Result};
use crate::id::{RoundId, WorkflowId};
use crate::mailbox::{Mailbox, close};
use crate::run::claim::record;
use crate::run::view::tail::{Next, RoundEvents};
use crate::surface::program;
use crate::surface::relaunch::foreground::on_hangup;
use crate::text;

/// `relaunch events` and `relaunch logs`.
pub fn follow(mailbox: &Mailbox, workflow: &WorkflowId, follow: bool, since: u64, json: bool) -> Result<u8> {
    let mut events = RoundEvents::of(mailbox, newest(mailbox, workflow)?, follow);
    // Nobody reads any more: also while nothing is to be written.
    let _lookout = follow.then(|| on_hangup(|| std::process::exit(0)));
    loop {
        // Asked before the events are read: then the last ones are surely among them.
        let goes_on = follow && events.goes_on()?;
        loop {
            match events.read()? {
                Next::Event(_, event) if event.seq <= since => {}
                Next::Event(line, _) if json => program::print(&format!("{}\n", text::escape_json(&line)))?,
                Next::Event(_, event) => program::print(&words(&event))?,
                Next::Attempt(n) if !json => program::print(&format!("-- attempt {n}\n"))?,
                Next::Attempt(_) => {}
                Next::Nothing => break,
            }
        }
        if !goes_on {
            return Ok(0);
        }
        events.wait();
    }
}

/// The workflow's newest round that has a run.
pub(super) fn newest(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<RoundId> {
    let mut rounds = close::rounds(mailbox, workflow);
    while let Some(found) = rounds.pop() {
        if record::latest(mailbox, &found.round)?.is_some() {
            return Ok(found.round);
        }
    }
    Err(Error::not_found(format!("{workflow} has no run"), "see where it stands: relaunch status"))
}

/// One event for people: `12:03:44  tool    Bash  {"command": …}`; nothing for what only programs care about.
#[must_use]
pub fn words(event: &Event) -> String {
    let cut = |s: &str| text::excerpt(s, 300);
    let (what, said) = match &event.kind {
        EventKind::Started { session_id, model, resumed, .. } => {
            ("began", format!("session {session_id} {model}{}", if resumed.is_some() { " (continued)" } else { "" }))
        }
        EventKind::Text { text, .. } => ("says", text::printable(text).trim_end().replace('\n', "\n                   ")),
        EventKind::Thinking { .. } => ("thinks", String::new()),
        EventKind::ToolCall { name, input, .. } => ("tool", format!("{name}  {}", cut(&input.to_string()))),
        EventKind::ToolResult { is_error, text, bytes, .. } => {
            (if *is_error { "tool failed" } else { "tool done" }, format!("{} ({bytes} bytes)", cut(text)))
        }
        EventKind::Throttled { status, retry, delay_ms, error, .. } => (
            "throttled",
            format!(
                "{} {error}, retry {retry} in {}.{}s",
                status.map(|s| s.to_string()).unwrap_or_default(),
                delay_ms / 1000,
                delay_ms % 1000 / 100
            ),
        ),
        EventKind::Silent { seconds } => ("silent", format!("{seconds}s")),
        EventKind::QuestionPosted { workflow_id, .. } => ("asks", format!("answer it: ask-answer {}", cut(workflow_id))),
        EventKind::Permission { tool, decision, .. } => ("permission", format!("{} {}", cut(decision), cut(tool))),
        EventKind::Interrupted { how, report, session_id, .. } => {
            let report = report.as_ref().map(|r| format!("\n{r}")).unwrap_or_default();
            let said = format!("{}; session {}{report}", cut(how), session_id.as_deref().unwrap_or("not begun"));
            ("stopped", text::printable(&said).trim_end().replace('\n', "\n                   "))
        }
        EventKind::Result { is_error, text, turns, cost_usd, .. } => {
            let cost = cost_usd.map(|c| format!(", ${c:.4}")).unwrap_or_default();
            (if *is_error { "failed" } else { "result" }, format!("{} ({turns} turns{cost})", text::printable(text).trim_end()))
        }
        EventKind::Parked { why } => ("parked", cut(why)),
        EventKind::Note { text } => ("note", cut(text)),
        EventKind::Raw { .. } | EventKind::Unknown => return String::new(),
    };
    format!(
        "{}  {what:<9}{}{said}\n",
        crate::time::rfc3339(event.at).get(11..19).unwrap_or_default(),
        if said.is_empty() { "" } else { " " }
    )
}
