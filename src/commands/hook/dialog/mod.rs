//! The dialog of an attended session as a question of the mailbox. The hook runs while the dialog is open at the terminal, and the first
//! answer counts.
//!
//! | file | idea |
//! |---|---|
//! | `signs` | the signs that the dialog is over |
//! | `guard` | the process that goes on after a hook that is killed |
//! | `asker` | the session as a program that asks |
//! | `form` | the form of an MCP server, which is in the mailbox only while nobody is at the terminal |
//! | `question` | what the dialog asks, as a request, and when a person last typed at its terminal |
//! | `reply` | the reply as the decision that Claude Code reads |
//!
//! The driver is `askbox_run::asking::beside`. While it is in its grace time, the call's id is found in the transcript. An answer is printed as
//! the decision. Then another process waits until the session's transcript has the receipt, because Claude Code goes on only after this one
//! has ended.
//!
//! No failure here takes the dialog away: then this process ends without output, and the dialog stays as it is.

mod asker;
mod form;
mod guard;
pub(super) mod question;
mod reply;
mod signs;

use std::path::PathBuf;
use std::time::Duration;

use crate::commands::hook::dialog::asker::Asker;
use crate::commands::hook::dialog::form::Form;
use crate::commands::hook::dialog::signs::is_attended;
use crate::commands::hook::event::{Elicitation, PermissionRequest};
use askbox_cli::{Context, program};
use askbox_mailbox::programs::CLAUDE;
use askbox_mailbox::{Folder, FolderWatch, Mailbox, Result};
use askbox_run::Desk;
use askbox_run::asking::beside::{Dialog, LOOK_EVERY, Program};

/// Waits beside the dialog. Prints a decision if a person has answered in the mailbox; else prints nothing, and the dialog decides.
pub(super) fn hold(event: &PermissionRequest, context: &Context) {
    at_desk(context, |desk| if is_attended() || desk.config.live.unattended { beside(desk, event) } else { Ok(()) });
}

/// Waits in place of a form that an MCP server shows the user of an attended session. Prints the answer of the mailbox; else prints nothing, and
/// Claude Code opens the form at the terminal. An address to open is left to the terminal.
pub(super) fn hold_form(event: &Elicitation, context: &Context) {
    if event.mode == "url" || !is_attended() {
        return;
    }
    at_desk(context, |desk| match Form::begin(desk, event)? {
        Some(mut form) => look(desk, Dialog::new(Duration::ZERO), &mut form, &[]),
        None => Ok(()),
    });
}

/// Does this in the mailbox, if the operator wants dialogs in it.
fn at_desk(context: &Context, ask: impl FnOnce(Desk<'_>) -> Result<()>) {
    let Ok(config) = context.config() else { return };
    if !config.live.enabled {
        return;
    }
    let Ok(mailbox) = Mailbox::locate(None).and_then(Mailbox::open_or_create) else { return };
    let desk = Desk { mailbox: &mailbox, config: &config, facts: &CLAUDE };
    if let Err(e) = ask(desk) {
        desk.not_asked(&e.to_string());
    }
}

/// True if a person attends the session, and the operator wants its dialogs and answers in both places.
pub(super) fn is_wanted(context: &Context) -> bool {
    is_attended() && context.config().is_ok_and(|config| config.live.enabled)
}

fn beside(desk: Desk<'_>, event: &PermissionRequest) -> Result<()> {
    // Each value that Claude Code reads as true is one here.
    let no_background = program::env("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS").unwrap_or_default().to_ascii_lowercase();
    let in_foreground = ["1", "true", "yes", "on"].contains(&no_background.trim());
    // Claude Code opens no dialog for such an agent before its hook has ended.
    let in_background = !is_attended() || (event.agent_id.is_some() && !in_foreground);
    let grace = if in_background { Duration::ZERO } else { desk.config.live.grace.0 };
    let mut asker = Asker::begin(desk, event, in_background, grace)?;
    let folders = asker.folders();
    look(desk, Dialog::new(grace), &mut asker, &folders)
}

/// Looks after a dialog until nothing is to be done about it any more. A change in these folders may be a sign of its end.
fn look(desk: Desk<'_>, mut dialog: Dialog, program: &mut impl Program<Key = ()>, folders: &[PathBuf]) -> Result<()> {
    let mut watch = FolderWatch::new(&desk.mailbox.folder(Folder::Answered)).ok();
    for folder in folders {
        let _ = watch.as_mut().map(|watch| watch.add(folder));
    }
    loop {
        dialog.look(desk, program, &())?;
        if dialog.is_over() || dialog.is_sent() {
            return Ok(());
        }
        if let Some(watch) = &watch { watch.wait(LOOK_EVERY) } else { std::thread::sleep(LOOK_EVERY) }
    }
}
