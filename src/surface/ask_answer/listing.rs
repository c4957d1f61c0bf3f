//! Lists: the pending questions, the checkpoints.

use serde_json::{Value, json};

use crate::error::Result;
use crate::mailbox::documents::checkpoint;
use crate::mailbox::{Folder, Mailbox, list};
use crate::surface::ask_answer::show;
use crate::surface::program;
use crate::{text, time};

/// `ask-answer list`
pub fn pending(mailbox: &Mailbox, as_json: bool) -> Result<()> {
    let pending = list::pending(mailbox)?;
    if as_json {
        let objects: Vec<Value> = pending
            .iter()
            .map(|p| match &p.document {
                Ok(d) => json!({
                    "workflow_id": p.workflow, "question_id": d.typed.question_id, "title": d.typed.title(), "asked_by": d.typed.asked_by,
                    "timestamp": d.typed.timestamp, "priority": d.typed.priority.unwrap_or(0), "expires_at": d.typed.expires_at,
                    "overdue": show::is_overdue(&d.typed, time::now()), "questions": d.typed.parts().len(),
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
                show::age(&d.typed),
                text::excerpt(d.typed.asked_by.as_deref().unwrap_or("-"), 24),
                show::headline(&d.typed),
            ],
            Err(e) => [p.workflow.to_string(), "-".into(), "-".into(), format!("unreadable: {}", program::message(e))],
        })
        .collect();
    if rows.is_empty() {
        program::say("no question is pending\n");
    }
    program::print_words(&show::table(["WORKFLOW", "AGE", "ASKED BY", "QUESTION"], &rows))
}

/// `checkpoint list`
pub fn checkpoints(mailbox: &Mailbox, as_json: bool) -> Result<()> {
    let mut ids = list::workflows(mailbox, Folder::Checkpoints)?;
    ids.sort_unstable();
    let mut rows = Vec::new();
    let mut objects = Vec::new();
    for id in ids {
        let path = checkpoint::path(mailbox, &id);
        let read = checkpoint::read_for(&path, &id);
        if as_json {
            objects.push(match &read {
                Ok(d) => json!({"workflow_id": id, "path": path, "current_step": d.typed.current_step, "answered": d.typed.user_answer.is_some()}),
                Err(e) => json!({"workflow_id": id, "path": path, "error": program::message(e)}),
            });
        } else {
            let step = match &read {
                Ok(d) => d.typed.current_step.clone().unwrap_or_else(|| "-".into()),
                Err(e) => format!("unreadable: {}", program::message(e)),
            };
            rows.push([id.to_string(), show::age_of(&path), step]);
        }
    }
    if as_json {
        return program::print_json(&objects);
    }
    program::print_words(&show::table(["WORKFLOW", "AGE", "STEP"], &rows))
}
