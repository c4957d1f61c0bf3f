//! `ask-answer list`: the pending questions.

use serde_json::{Value, json};

use crate::error::Result;
use crate::id::WorkflowId;
use crate::mailbox::list::{self, Pending};
use crate::mailbox::quarantine::quarantined_round::{self, QuarantinedRound};
use crate::mailbox::{Mailbox, pause, read_question};
use crate::surface::ask_answer::question_text;
use crate::surface::program;
use crate::surface::terminal::{columns, fitted};
use crate::{document, text, time};

/// The longest object that is kept until it is printed, in bytes. The question of a longer one is read a second time.
const KEPT: usize = 4 << 10;

/// Prints the pending questions, and the rounds that are parked because their file lies in quarantine.
///
/// A mailbox that does not exist yet has none.
pub fn pending(mailbox: Option<&Mailbox>, as_json: bool) -> Result<()> {
    let Some(mailbox) = mailbox else {
        return program::print(if as_json { "[]\n" } else { "" });
    };
    let held = quarantined_round::all(mailbox)?;
    if as_json {
        return print_json(mailbox, &held);
    }
    let mut rows = list::pending(mailbox, |p| cells(&p))?;
    rows.extend(
        held.iter().map(|held| [held.workflow.to_string(), "-".into(), "-".into(), format!("parked: {}; {}", held.why(), held.todo())]),
    );
    if let Some(how) = pause::held(mailbox) {
        program::warn(&format!("the queue is {how}; answers are kept, and nothing is launched until: relaunch go"));
    }
    if rows.is_empty() {
        program::say("no question is pending\n");
    }
    program::print(&fitted::rows(&columns::table(["WORKFLOW", "AGE", "ASKED BY", "QUESTION"], &rows)))
}

fn cells(pending: &Pending) -> [String; 4] {
    let id = pending.workflow.to_string();
    match &pending.document {
        Ok(d) => [
            id,
            question_text::age(&d.typed),
            text::excerpt(d.typed.asked_by.as_deref().unwrap_or("-"), 24),
            question_text::headline(&d.typed),
        ],
        Err(e) => [id, "-".into(), "-".into(), format!("unreadable: {}", program::message(e))],
    }
}

/// Prints one array, object by object: a question may be as long as a document.
fn print_json(mailbox: &Mailbox, held: &[QuarantinedRound]) -> Result<()> {
    let kept = |p: Pending| -> Result<(WorkflowId, Option<String>)> {
        let object = in_json(&p)?;
        Ok((p.workflow, Some(object).filter(|o| o.len() <= KEPT)))
    };
    let mut comma = "[";
    for row in list::pending(mailbox, kept)? {
        let object = match row? {
            (_, Some(object)) => object,
            (workflow, None) => in_json(&Pending { document: read_question::pending(mailbox, &workflow), workflow })?,
        };
        program::print(&format!("{comma}{object}"))?;
        comma = ",";
    }
    for held in held {
        let object = words(&json!({"workflow_id": held.workflow, "error": held.why(), "todo": held.todo()}))?;
        program::print(&format!("{comma}{object}"))?;
        comma = ",";
    }
    program::print(if comma == "[" { "[]\n" } else { "]\n" })
}

fn in_json(pending: &Pending) -> Result<String> {
    words(&match &pending.document {
        Ok(d) => json!({
            "workflow_id": pending.workflow, "question_id": d.typed.question_id, "title": d.typed.title(), "asked_by": d.typed.asked_by,
            "timestamp": d.typed.timestamp, "priority": d.typed.priority.unwrap_or(0), "expires_at": d.typed.expires_at,
            "until": d.typed.until, "overdue": question_text::is_overdue(&d.typed, time::now()), "questions": d.typed.parts().len(),
        }),
        Err(e) => json!({"workflow_id": pending.workflow, "error": program::message(e)}),
    })
}

fn words(object: &Value) -> Result<String> {
    Ok(text::escape_json(&String::from_utf8_lossy(&document::to_json(object)?)))
}
