//! Decides whether a command is about other machines, and if it is, turns it into a part of `askbox`.

use std::os::unix::process::CommandExt;
use std::process::Command as Program;

use crate::args::ask_answer_args::{AskAnswer, Command, Hosts};
use crate::program;
use askbox_mailbox::{Address, Error, Result};
use askbox_run::programs;

/// The word that `askbox` expects before the arguments of `ask-answer`.
pub const PART: &str = "ask-answer";

/// Becomes `askbox` if the command is about other machines, and returns if it is not.
///
/// # Errors
/// If `askbox` cannot be run; [`Error::Usage`] if the flags do not fit together.
pub(super) fn go_there(args: &AskAnswer) -> Result<()> {
    if !is_about_others(args)? {
        return Ok(());
    }
    let e = Program::new(programs::beside("askbox")).arg(PART).arg("--").args(std::env::args_os().skip(1)).exec();
    Err(Error::failed(format!("other machines are a part of the program askbox, which cannot be run: {e}"), "install it beside ask-answer"))
}

fn is_about_others(args: &AskAnswer) -> Result<bool> {
    if args.reply.offer.is_some() || args.reply.sessions.is_some() {
        let is_alone = args.command.is_none() && args.reply.words.is_empty() && args.reply.file.is_none();
        return if is_alone { Ok(true) } else { Err(Error::usage("--offer and --sessions take no answer", "leave it out")) };
    }
    let is_there = |id: &Address| id.host.is_some();
    Ok(match &args.command {
        Some(Command::List { watch: true, .. }) if !args.common.json => {
            return Err(Error::usage("`--watch` prints JSON for programs", "write: ask-answer list --json --watch"));
        }
        Some(Command::List { watch: true, .. }) => true,
        Some(Command::List { format: Some(_), host: Some(host), .. }) if *host != Hosts::Here => {
            return Err(Error::usage("`--format` prints the questions of this machine only", "leave --host out"));
        }
        Some(Command::List { format: Some(_), .. }) => false,
        Some(Command::List { host: Some(host), .. }) => *host != Hosts::Here,
        // Scripts and agents are shown only the questions of their own machine.
        Some(Command::List { .. }) => !args.common.json && program::env("ASKBOX_RUN").is_none() && program::has_peers(),
        Some(Command::Show { id, .. } | Command::Decline { id, .. } | Command::AskBack { id, .. } | Command::Edit { id, .. }) => {
            is_there(id)
        }
        Some(Command::Undo { id, .. } | Command::Cancel { id, .. }) => is_there(id),
        None => args.reply.words.first().and_then(|id| id.parse().ok()).as_ref().is_some_and(is_there),
    })
}
