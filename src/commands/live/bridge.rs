//! All requests of one process.

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use crate::commands::live::dialog::{Dialog, not_asked};
use crate::commands::live::office::Office;
use crate::commands::live::way::Way;
use crate::commands::live::wire::{Incoming, RequestId};
use askbox_cli::program;
use askbox_mailbox::error::Result;

/// How often the mailbox is looked at while a dialog is open.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// How many lines are read before the next look at the mailbox.
const MOST_LINES: usize = 500;
/// How many dialogs of one process are held.
const MOST_DIALOGS: usize = 100;

const GONE: &str = "its session has ended";

/// Serves the dialogs until the lines end: the plugin has closed its end, or the program has ended.
///
/// # Errors
/// If the program can no longer be written to.
pub(super) fn serve(office: Office<'_>, way: &mut Way, lines: &Receiver<Vec<u8>>) -> Result<()> {
    let mut dialogs = HashMap::new();
    let result = pass_until_end(office, way, lines, &mut dialogs);
    dialogs.values_mut().for_each(|dialog| dialog.end(office, GONE));
    result
}

fn pass_until_end(office: Office<'_>, way: &mut Way, lines: &Receiver<Vec<u8>>, dialogs: &mut HashMap<RequestId, Dialog>) -> Result<()> {
    loop {
        // Without a dialog, only a line brings work.
        let line = match dialogs.is_empty() {
            true => lines.recv().map_err(|_| RecvTimeoutError::Disconnected),
            false => lines.recv_timeout(LOOK_EVERY),
        };
        match line {
            Ok(line) => {
                // The end of a dialog may lie behind this line, and comes before any look at the mailbox.
                for line in std::iter::once(line).chain(lines.try_iter().take(MOST_LINES)) {
                    way.read(&line).into_iter().for_each(|told| handle(office, told, dialogs));
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
        for dialog in dialogs.values_mut() {
            dialog.tick(office, way)?;
        }
        dialogs.retain(|_, dialog| !dialog.is_over());
        way.send_again()?.into_iter().for_each(|told| handle(office, told, dialogs));
    }
}

fn handle(office: Office<'_>, told: Incoming, dialogs: &mut HashMap<RequestId, Dialog>) {
    match told {
        Incoming::Asked(asked) => match office.program.request(*asked) {
            Ok(request) => {
                let is_full = dialogs.len() >= MOST_DIALOGS;
                match dialogs.get_mut(&request.id) {
                    Some(dialog) => dialog.told_again(office, &request),
                    None if is_full => not_asked(office, "too many dialogs of this session are open"),
                    None => drop(dialogs.insert(request.id.clone(), Dialog::new(request))),
                }
            }
            Err(e) => not_asked(office, &program::message(&e)),
        },
        Incoming::Ended { id } => {
            if let Some(dialog) = dialogs.get_mut(&id) {
                dialog.ended(office);
            }
        }
        Incoming::Left { id } => {
            if let Some(dialog) = dialogs.get_mut(&id) {
                dialog.end(office, GONE);
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
