//! `askbox live opencode`: the dialogs of one process of opencode as questions of the mailbox.
//!
//! The plugin `askbox.js` in opencode starts this command when a dialog opens, and keeps it as long as one is open. opencode itself shows
//! the dialog at its terminal and takes the first reply. It answers a later one with 404, so it is known who was first.
//!
//! | file | idea |
//! |---|---|
//! | `askbox.js` | the plugin: tells what opencode asks, and gives it the replies |
//! | `wire` | the JSON lines between the plugin and this command |
//! | `request` | a request of opencode, as the call that a person is shown |
//! | `question` | the question that a request becomes |
//! | `reply` | a person's answer as the reply to opencode |
//! | `dialog` | one request, from the grace time to the receipt |
//! | `bridge` | all requests of one process |
//!
//! A failure here ends this process without a reply, and the dialog stays as it is. The reply `always` is never sent: it would change
//! opencode's rules for the rest of the session.

mod bridge;
mod dialog;
mod question;
mod reply;
mod request;
mod wire;

use askbox_cli::args::askbox_args::{Live, LiveProgram};
use askbox_cli::program::{self, Context};
use askbox_mailbox::Mailbox;
use askbox_mailbox::error::Result;

/// The name of this command in the questions that it ends.
pub(in crate::commands) const BY: &str = "askbox live";
/// The plugin for opencode.
pub const OPENCODE_PLUGIN: &str = include_str!("askbox.js");

/// Runs `askbox live`. It ends at once in a run of askbox, and if the operator does not want it.
pub fn run(args: &Live, context: &Context) -> Result<u8> {
    let LiveProgram::Opencode = args.program;
    if program::env("ASKBOX_RUN").is_some() {
        return Ok(0);
    }
    let config = context.config()?;
    if config.live.opencode {
        let mailbox = Mailbox::locate(None).and_then(Mailbox::open_or_create)?;
        bridge::serve(bridge::Office { mailbox: &mailbox, config: &config })?;
    }
    Ok(0)
}
