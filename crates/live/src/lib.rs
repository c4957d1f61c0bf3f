//! `askbox live`: the dialogs of Codex's sessions, or of one process of opencode or Copilot, as questions of the mailbox.
//!
//! The watcher starts it for Codex. For opencode and Copilot, the plugin in the program (`askbox setup` writes it) starts this command when
//! a dialog opens, and keeps it as long as one is open. The program itself shows the dialog at its terminal and takes the first reply. It
//! answers a later one with 404, or says that nothing waits, so it is known who was first.
//!
//! | file | idea |
//! |---|---|
//! | [`codex`] | the dialogs of Codex's sessions |
//! | `programs` | how the programs differ |
//! | `wire` | the JSON lines between the plugin and this command |
//! | `request` | what a program asks, as a request that a person can answer |
//! | `opencode`, `copilot` | the requests of these programs |
//! | `reply` | the reply to a program, in its own form |
//! | `bridge` | all requests of one process |
//!
//! A failure here ends this process without a reply, and the dialog stays as it is. The reply `always` is never sent: it would change
//! opencode's rules for the rest of the session.

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

mod bridge;
pub mod codex;
mod copilot;
#[doc(hidden)]
pub mod fuzzed;
mod opencode;
mod programs;
mod reply;
mod request;
mod wire;

use askbox_cli::args::askbox_args::Live;
use askbox_cli::{Context, program};
use askbox_mailbox::{Mailbox, Result};

/// Runs `askbox live` beside a plugin. It ends at once in a run of askbox, and if the operator does not want it.
///
/// # Errors
/// If the mailbox or the configuration cannot be used.
pub fn run(args: &Live, context: &Context) -> Result<u8> {
    if program::env("ASKBOX_RUN").is_some() {
        return Ok(0);
    }
    let config = context.config()?;
    if programs::is_wanted(args.program, &config) {
        let mailbox = Mailbox::locate(None).and_then(Mailbox::open_or_create)?;
        bridge::serve(&mailbox, &config, args.program, &wire::lines(std::io::stdin())?)?;
    }
    Ok(0)
}
