//! `relaunch stop`: asks a run to stop, waits for its end, and prints the work that it had done.

use askbox_agent::EventKind;
use askbox_cli::args::relaunch_args::StopFlags;
use askbox_cli::{Context, program};
use askbox_mailbox::{LockHolder, Mailbox, Result, Span, WorkflowId, lineage, time};
use askbox_run::chain::whole_tree;
use askbox_run::supervise::stop::{self, Stop};
use askbox_run::view::tail::EventTail;
use askbox_run::{OwnState, Run, RunState, on_demand, outcome};

/// `relaunch stop --tree ID`.
pub fn stop_tree(mailbox: &Mailbox, context: &Context, root: &WorkflowId, flags: &StopFlags, json: bool) -> Result<u8> {
    whole_tree::stop(mailbox, root, |workflow| stop_one(mailbox, context, workflow, flags, json)).map(|()| 0)
}

/// `relaunch stop ID`. Prints the run's last event as JSON, or as text the work that the agent had done. Warns if agents below it keep
/// running.
pub fn stop(mailbox: &Mailbox, context: &Context, workflow: &WorkflowId, flags: &StopFlags, json: bool) -> Result<u8> {
    stop_one(mailbox, context, workflow, flags, json)?;
    let members = lineage::members(mailbox, workflow)?;
    let works = |id: &&WorkflowId| **id != *workflow && matches!(outcome::own_state_without_lock(mailbox, id), Ok(OwnState::Working));
    let working: Vec<&str> = members.iter().filter(works).map(WorkflowId::as_str).collect();
    if !working.is_empty() {
        let working = working.join(", ");
        program::warn(&format!("what {workflow} started runs on: {working}; to stop that too: relaunch stop --tree {workflow}"));
    }
    Ok(0)
}

fn stop_one(mailbox: &Mailbox, context: &Context, workflow: &WorkflowId, flags: &StopFlags, json: bool) -> Result<()> {
    let request =
        Stop { at: time::now(), by: program::user(), grace: flags.grace.map(Span), report: flags.report, now: flags.now, by_limit: false };
    if !json && !flags.now && stop::live_run(mailbox, workflow).is_ok() {
        // A broken configuration does not keep anybody from stopping a run.
        let limit = request.grace.map_or_else(|| context.config().unwrap_or_default().limits.grace.0, |grace| grace.0);
        program::say(&format!("stopping {workflow}: waiting up to {} for its tool; --now skips that\n", time::human(limit)));
    }
    let continued = |supervisor: &LockHolder| program::warn(&format!("{workflow} was supervised by {supervisor}; it is continued"));
    let run = on_demand::stop(mailbox, workflow, &request, || context.config(), continued)?;
    if json {
        print_last_event(mailbox, &run)?;
    } else {
        print_in_words(mailbox, workflow, &run)?;
    }
    Ok(())
}

fn print_in_words(mailbox: &Mailbox, workflow: &WorkflowId, run: &Run) -> Result<()> {
    let how = match run.state {
        RunState::Interrupted => format!("stopped {workflow}; go on with: relaunch {workflow}"),
        RunState::Delivered => format!("{workflow} had ended by itself"),
        RunState::Asking => format!("{workflow} waits for an answer: ask-answer show {workflow}"),
        _ => format!("{workflow} ended: {}", run.why.clone().unwrap_or_default()),
    };
    program::print(&format!("{how}\n"))?;
    let mut lines = events(mailbox, run);
    while let Some((_, event)) = lines.next_event()? {
        if let EventKind::Interrupted { text, report, .. } = event.kind {
            program::print(&format!("{}\n", report.unwrap_or(text).printable()))?;
        }
    }
    Ok(())
}

/// Prints the `interrupted` event, or the result of a run that ended before it was stopped.
fn print_last_event(mailbox: &Mailbox, run: &Run) -> Result<()> {
    let mut lines = events(mailbox, run);
    let mut last = None;
    while let Some((line, event)) = lines.next_event()? {
        if matches!(event.kind, EventKind::Interrupted { .. } | EventKind::Result { .. } | EventKind::Parked { .. }) {
            last = Some(line);
        }
    }
    let line = last.unwrap_or_else(|| r#"{"type":"interrupted","text":"","tool_calls":[],"files_touched":[]}"#.into());
    program::print_json_text(&line)
}

fn events(mailbox: &Mailbox, run: &Run) -> EventTail {
    EventTail::new(run.folder(mailbox).join("events.jsonl"))
}
