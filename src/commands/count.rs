//! `askbox count`: the number of questions that wait for a person.

use std::path::Path;

use serde_json::{Value, json};

use askbox_cli::args::askbox_args::Count;
use askbox_cli::program;
use askbox_mailbox::overview::waiting::{self, Pending};
use askbox_mailbox::{Error, Folder, Mailbox, Result, list, read_question, text, time, timers};

/// The most bytes that Claude Code sends to its status line.
const LONGEST: u64 = 1 << 20;

/// Prints the number. A missing mailbox counts as empty.
pub fn run(args: &Count) -> Result<u8> {
    if args.status_line {
        return status_line(args);
    }
    let path = Mailbox::locate(args.common.mailbox.as_deref())?;
    let count = match Mailbox::open(path) {
        Err(Error::NotFound { .. }) => 0,
        mailbox => waiting_for_a_person(&mailbox?)?,
    };
    program::print_result(args.common.json, &json!({ "pending": count }), &format!("{count}\n")).map(|()| 0)
}

/// Counts by file names. A document is read only if a timer says that its question waits for an event, because a timer may be left over.
fn waiting_for_a_person(mailbox: &Mailbox) -> Result<u64> {
    let events = timers::waiting_for_events(mailbox)?;
    list::each_workflow(mailbox, Folder::Pending)?.try_fold(0, |n, id| {
        let id = id?;
        let waits_for_an_event = events.contains(&id) && read_question::pending(mailbox, &id).is_ok_and(|d| d.typed.until.is_some());
        Ok(n + u64::from(!waits_for_an_event))
    })
}

/// Prints the line that Claude Code shows below its prompt. A problem is not shown there: `askbox doctor` tells it.
fn status_line(args: &Count) -> Result<u8> {
    let sent = program::read_input(Path::new("-"), LONGEST).unwrap_or_default();
    let sent: Value = serde_json::from_slice(&sent).unwrap_or_default();
    let Some(mailbox) = args.common.open_if_made().ok().flatten() else { return Ok(0) };
    let count = waiting_for_a_person(&mailbox).unwrap_or_default();
    if count == 0 {
        return Ok(0);
    }
    let mut parts = vec![if count == 1 { "askbox: 1 question waits".into() } else { format!("askbox: {count} questions wait") }];
    parts.extend(held(&mailbox, sent["session_id"].as_str().unwrap_or_default()).unwrap_or_default());
    program::print(&format!("{}\n", parts.join(" · ")))?;
    Ok(0)
}

/// The agents and servers of this session that wait in the background. Claude Code shows no dialog for them.
fn held(mailbox: &Mailbox, session: &str) -> Result<Vec<String>> {
    let in_words = |pending: Pending| {
        let question = pending.document.ok()?.typed;
        let live = question.live.filter(|live| live.in_background && live.session.to_string() == session)?;
        let agent = text::excerpt(live.agent.as_deref().or(question.elicited_by.as_deref()).unwrap_or("an agent"), 24);
        let left = live.until.and_then(|until| (until - time::now()).to_std().ok());
        let left = left.map_or_else(String::new, |left| format!(", {} left", time::human(left)));
        Some(format!("{agent} waits for you{left}: ask-answer {}", question.workflow_id))
    };
    Ok(waiting::pending(mailbox, in_words)?.into_iter().flatten().collect())
}
