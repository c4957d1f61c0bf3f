//! `ask-answer list`: the pending questions.

use crate::surface::terminal::columns;
use serde_json::{Value, json};

use crate::error::Result;
use crate::mailbox::{Mailbox, list};
use crate::surface::ask_answer::question_text;
use crate::surface::program;
use crate::{text, time};

/// Prints the pending questions.
pub fn pending(mailbox: &Mailbox, as_json: bool) -> Result<()> {
    let pending = list::pending(mailbox)?;
    if as_json {
        let objects: Vec<Value> = pending
            .iter()
            .map(|p| match &p.document {
                Ok(d) => json!({
                    "workflow_id": p.workflow, "question_id": d.typed.question_id, "title": d.typed.title(), "asked_by": d.typed.asked_by,
                    "timestamp": d.typed.timestamp, "priority": d.typed.priority.unwrap_or(0), "expires_at": d.typed.expires_at,
                    "overdue": question_text::is_overdue(&d.typed, time::now()), "questions": d.typed.parts().len(),
                }),
                Err(e) => json!({"workflow_id": p.workflow, "error": program::message(e)}),
            })
            .collect();
        return program::print_json(&objects);
    }
    let rows: Vec<[String; 4]> = pending
        .iter()
        .map(|p| match &p.document {
            Ok(d) => [
                p.workflow.to_string(),
                question_text::age(&d.typed),
                text::excerpt(d.typed.asked_by.as_deref().unwrap_or("-"), 24),
                question_text::headline(&d.typed),
            ],
            Err(e) => [p.workflow.to_string(), "-".into(), "-".into(), format!("unreadable: {}", program::message(e))],
        })
        .collect();
    if rows.is_empty() {
        program::say("no question is pending\n");
    }
    program::print(&columns::table(["WORKFLOW", "AGE", "ASKED BY", "QUESTION"], &rows))
}
