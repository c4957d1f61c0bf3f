//! A checkpoint as text for people. The caller removes control characters before printing it.

use std::fmt::Write;
use std::path::Path;

use crate::mailbox::documents::checkpoint::CheckpointDocument;
use crate::mailbox::documents::shell_export;

/// A checkpoint for people.
#[must_use]
pub fn checkpoint(document: &CheckpointDocument, path: &Path) -> String {
    let checkpoint = &document.typed;
    let mut out = String::new();
    let mut line = |name: &str, value: &str| {
        if !value.is_empty() {
            let _ = writeln!(out, "{name:<12}  {}", value.trim_end().replace('\n', "\n              "));
        }
    };
    line("workflow", checkpoint.workflow_id.as_ref().map_or("", |w| w.as_str()));
    line("type", checkpoint.workflow_type.as_deref().unwrap_or_default());
    line("step", checkpoint.current_step.as_deref().unwrap_or_default());
    line("done", &checkpoint.completed_steps.join(", "));
    line("to come", &checkpoint.pending_steps.join(", "));
    for (key, value) in &checkpoint.files {
        line("file", &format!("{key} = {}", shell_export::bare(value)));
    }
    for (key, value) in &checkpoint.state_variables {
        line("state", &format!("{key} = {}", shell_export::bare(value)));
    }
    line("context", checkpoint.context.as_deref().unwrap_or_default());
    line("next action", checkpoint.next_action.as_deref().unwrap_or_default());
    line("answer", &checkpoint.user_answer.as_ref().map(shell_export::bare).unwrap_or_default());
    line("file name", &path.display().to_string());
    out
}
