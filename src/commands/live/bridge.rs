//! All requests of one process.

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use crate::commands::live::dialog::{Dialog, not_asked};
use crate::commands::live::office::Office;
use crate::commands::live::request::Request;
use crate::commands::live::wire::{self, Incoming, RequestId};
use askbox_cli::program;
use askbox_mailbox::error::Result;

/// How often the mailbox is looked at while a dialog is open.
const LOOK_EVERY: Duration = Duration::from_millis(100);

const GONE: &str = "its session has ended";

/// Serves the dialogs until the plugin closes its end, or ends with its program.
///
/// # Errors
/// If the plugin can no longer be read or written.
pub(super) fn serve(office: Office<'_>) -> Result<()> {
    let lines = wire::lines()?;
    let mut dialogs = HashMap::new();
    let result = pass_until_end(office, &lines, &mut dialogs);
    dialogs.values_mut().for_each(|dialog| dialog.end(office, GONE));
    result
}

fn pass_until_end(office: Office<'_>, lines: &Receiver<Incoming>, dialogs: &mut HashMap<RequestId, Dialog>) -> Result<()> {
    loop {
        match lines.recv_timeout(LOOK_EVERY) {
            Ok(line) => {
                handle(office, line, dialogs);
                // The end of a dialog may lie behind this line, and comes before any look at the mailbox.
                lines.try_iter().for_each(|line| handle(office, line, dialogs));
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
        for dialog in dialogs.values_mut() {
            dialog.tick(office)?;
        }
        dialogs.retain(|_, dialog| !dialog.is_over());
    }
}

fn handle(office: Office<'_>, line: Incoming, dialogs: &mut HashMap<RequestId, Dialog>) {
    match line {
        Incoming::Asked(asked) => match Request::read(office.program, *asked) {
            Ok(request) => {
                dialogs.entry(request.id.clone()).or_insert_with(|| Dialog::new(request));
            }
            Err(e) => not_asked(office, &program::message(&e)),
        },
        Incoming::Ended { id } => {
            if let Some(dialog) = dialogs.get_mut(&id) {
                dialog.ended(office);
            }
        }
        Incoming::Replied { id, status } => {
            if let Some(dialog) = dialogs.get_mut(&id) {
                dialog.replied(office, status);
            }
        }
        Incoming::Failed { id, why } => match id.and_then(|id| dialogs.get_mut(&id)) {
            Some(dialog) => dialog.failed(office, &why),
            None => not_asked(office, &why),
        },
        Incoming::Other => {}
    }
}
