//! The dialogs that the programs' events tell, for `fuzz/`.

use crate::commands::hook::at_terminal;
use crate::commands::hook::dialog::question;
use crate::commands::hook::event::PermissionRequest;
use askbox_mailbox::dialogs::{Dialog, Program};
use askbox_mailbox::programs::CLAUDE;
use askbox_mailbox::{QuestionDocument, Result, Time};

/// The question that a dialog of Claude Code becomes. `None` if the event is none.
pub fn question(event: &[u8], since: Time) -> Option<Result<QuestionDocument>> {
    let event: PermissionRequest = serde_json::from_slice(event).ok()?;
    let id = question::id_not_told(&event);
    Some(question::request(&event, id, None).and_then(|request| request.question(&CLAUDE, since)))
}

/// The dialog at a terminal that an event of Kimi or Gemini opens.
pub fn dialog(program: Program, event: &[u8]) -> Option<Dialog> {
    at_terminal::opened(program, event)
}
