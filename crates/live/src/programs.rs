//! The programs whose dialogs `askbox live` holds.

use crate::wire::{Asked, RequestId};
use crate::{copilot, opencode};
use askbox_cli::args::askbox_args::LiveProgram;
use askbox_config::Config;
use askbox_mailbox::Result;
use askbox_mailbox::programs::{COPILOT, Facts, OPENCODE};
use askbox_run::Request;

/// What is known of a program.
pub(super) fn facts(program: LiveProgram) -> &'static Facts {
    match program {
        LiveProgram::Opencode => &OPENCODE,
        LiveProgram::Copilot => &COPILOT,
    }
}

/// True if the operator wants the program's dialogs in the mailbox.
pub(super) fn is_wanted(program: LiveProgram, config: &Config) -> bool {
    match program {
        LiveProgram::Opencode => config.live.opencode,
        LiveProgram::Copilot => config.live.experimental_copilot,
    }
}

/// Reads what a program has told of a dialog.
///
/// # Errors
/// If it is not one that a person can answer here.
pub(super) fn read(program: LiveProgram, asked: Asked) -> Result<(RequestId, Request)> {
    match program {
        LiveProgram::Opencode => opencode::read(asked),
        LiveProgram::Copilot => copilot::read(asked),
    }
}
