//! `askbox sessions`: the sessions of Claude Code that run on this machine, what each of them does, and the questions of their dialogs.

use std::collections::HashMap;

use serde_json::json;

use askbox_agent::claude;
use askbox_agent::sessions::{self, Session};
use askbox_cli::args::askbox_args::Sessions;
use askbox_cli::program;
use askbox_cli::terminal::{columns, fitted};
use askbox_mailbox::error::{Error, Result};
use askbox_mailbox::id::WorkflowId;
use askbox_mailbox::listing::list;
use askbox_mailbox::{Mailbox, text, time};

/// The questions of dialogs that wait, by the id of their session.
type Waiting = HashMap<String, Vec<WorkflowId>>;

/// Prints the sessions. A missing mailbox has no questions.
pub fn run(args: &Sessions) -> Result<u8> {
    let folder = claude::config_dir(|name| std::env::var_os(name))
        .ok_or_else(|| Error::usage("the sessions of Claude Code have no place: $HOME is unset", "set $HOME"))?;
    let waiting = match args.common.open_if_made()? {
        Some(mailbox) => waiting(&mailbox)?,
        None => Waiting::new(),
    };
    let mut found = sessions::all(&folder);
    // Those that wait for their user come first, the longest wait first.
    found.sort_by_key(|session| (!session.is_waiting() && !waiting.contains_key(&session.session_id), session.since(), session.pid));
    if args.common.json {
        found.iter().try_for_each(|session| program::print_json(&in_json(session, &waiting)))?;
        return Ok(0);
    }
    if found.is_empty() {
        program::say("no session of Claude Code runs here\n");
    }
    let rows: Vec<_> = found.iter().map(|session| row(session, &waiting)).collect();
    program::print(&fitted::rows(&columns::table(["SESSION", "PROJECT", "SINCE", "DOES", "ASKS IN THE MAILBOX"], &rows)))?;
    Ok(0)
}

fn waiting(mailbox: &Mailbox) -> Result<Waiting> {
    let of_session = |pending: list::Pending| {
        let question = pending.document.ok()?.typed;
        Some((question.asked.live?.session.to_string(), question.workflow_id))
    };
    let mut waiting = Waiting::new();
    for (session, workflow) in list::pending(mailbox, of_session)?.into_iter().flatten() {
        waiting.entry(session).or_default().push(workflow);
    }
    Ok(waiting)
}

fn asked<'a>(session: &Session, waiting: &'a Waiting) -> &'a [WorkflowId] {
    waiting.get(&session.session_id).map(Vec::as_slice).unwrap_or_default()
}

/// The status of the session, in words.
fn does(session: &Session) -> String {
    let what = text::excerpt(session.waiting_for.as_deref().unwrap_or("an answer"), 40);
    match session.status.as_deref() {
        Some("waiting") => format!("waits at its terminal: {what}"),
        Some(other) => text::excerpt(other, 40),
        None => "-".into(),
    }
}

fn row(session: &Session, waiting: &Waiting) -> [String; 5] {
    let project = session.cwd.file_name().map_or_else(|| "-".into(), |name| text::excerpt(&name.to_string_lossy(), 40));
    let since = session.since().map_or_else(|| "-".into(), |at| time::human(time::since(at)));
    let asked = asked(session, waiting).iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let asked = if asked.is_empty() { "-".into() } else { asked };
    [text::excerpt(&session.session_id, 36), project, since, does(session), asked]
}

fn in_json(session: &Session, waiting: &Waiting) -> serde_json::Value {
    json!({
        "program": "claude", "session_id": session.session_id, "pid": session.pid, "cwd": session.cwd, "kind": session.kind,
        "entrypoint": session.entrypoint, "name": session.name, "status": session.status, "waiting_for": session.waiting_for,
        "since": session.since().map(time::rfc3339), "questions": asked(session, waiting),
    })
}
