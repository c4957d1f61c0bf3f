//! `askbox live`: the dialogs of Codex's sessions, or of one process of opencode, Copilot or Qwen, as questions of the mailbox.
//!
//! The watcher starts it for Codex. For opencode and Copilot, the plugin in the program (`askbox setup` writes it) starts this command when
//! a dialog opens, and keeps it as long as one is open. Qwen has no such plugin, and is started by this command. The program itself shows
//! the dialog at its terminal and takes the first reply. It answers a later one with 404, or says that nothing waits, so it is known who
//! was first.
//!
//! | file | idea |
//! |---|---|
//! | [`codex`] | the dialogs of Codex's sessions |
//! | `beside_qwen` | the process beside a session of Qwen |
//! | `programs` | how the programs differ |
//! | `qwen` | the sessions of Qwen |
//! | `way` | the way to the program: the lines of its plugin, or Qwen's files |
//! | `wire` | the JSON lines between the plugin and this command |
//! | `request` | what a program asks, as a request that a person can answer |
//! | `opencode`, `copilot` | the requests of these programs |
//! | `reply` | the reply to a program, in its own form |
//! | `bridge` | all requests of one process |
//!
//! A failure here ends this process without a reply, and the dialog stays as it is. The reply `always` is never sent: it would change
//! opencode's rules for the rest of the session.

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

mod beside_qwen;
mod bridge;
pub mod codex;
mod copilot;
#[doc(hidden)]
pub mod fuzzed;
mod opencode;
mod programs;
mod qwen;
mod reply;
mod request;
mod way;
mod wire;

use askbox_cli::args::askbox_args::{Live, LiveProgram};
use askbox_cli::{Context, program};
use askbox_mailbox::{Error, Mailbox, Result};

/// Runs `askbox live`. Beside a plugin, it ends at once in a run of askbox, and if the operator does not want it. Qwen starts in any
/// case.
///
/// # Errors
/// If the mailbox or the configuration cannot be used, or Qwen cannot be started.
pub fn run(args: &Live, context: &Context) -> Result<u8> {
    let program = args.program;
    if !args.args.is_empty() && program != LiveProgram::Qwen {
        return Err(Error::usage("only qwen is started by this command, with its arguments", "askbox live qwen -- ARGS"));
    }
    let is_wanted = || Ok(program::env("ASKBOX_RUN").is_none() && programs::is_wanted(program, &context.config()?));
    let beside = args.beside.as_deref().zip(args.of);
    if program == LiveProgram::Qwen && beside.is_none() {
        return Err(qwen::start::run(&args.args, is_wanted));
    }
    if is_wanted()? {
        let config = context.config()?;
        let mailbox = Mailbox::locate(None).and_then(Mailbox::open_or_create)?;
        match beside {
            Some((folder, of)) => beside_qwen::serve(&mailbox, &config, folder, of)?,
            None => bridge::serve(&mailbox, &config, program, way::Way::Plugin, &wire::lines(std::io::stdin())?)?,
        }
    }
    Ok(0)
}
