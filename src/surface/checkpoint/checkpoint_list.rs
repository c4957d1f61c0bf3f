//! `checkpoint list`: the checkpoints of a mailbox.

use std::path::Path;

use serde_json::json;

use crate::disk;
use crate::error::Result;
use crate::mailbox::checkpoints::store;
use crate::mailbox::listing::list;
use crate::mailbox::{Folder, Mailbox};
use crate::surface::program;
use crate::surface::terminal::columns;
use crate::time;

/// Prints the checkpoints. Where there is no mailbox yet, there are none.
pub fn print(mailbox: Option<&Mailbox>, as_json: bool) -> Result<()> {
    let Some(mailbox) = mailbox else {
        return program::print(if as_json { "[]\n" } else { "" });
    };
    let mut ids = list::workflows(mailbox, Folder::Checkpoints)?;
    ids.sort_unstable();
    let mut rows = Vec::new();
    let mut objects = Vec::new();
    for id in ids {
        let path = store::path(mailbox, &id);
        let read = store::read_own(&path, &id);
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
            rows.push([id.to_string(), age_of(&path), step]);
        }
    }
    if as_json {
        return program::print_json(&objects);
    }
    if rows.is_empty() {
        program::say("no checkpoint is kept\n");
    }
    program::print(&columns::table(["WORKFLOW", "AGE", "STEP"], &rows))
}

/// How long ago a file was changed.
fn age_of(path: &Path) -> String {
    let changed = disk::metadata(path).and_then(|m| m.modified());
    changed.map_or_else(|_| "-".into(), |at| time::human(at.elapsed().unwrap_or_default()))
}
