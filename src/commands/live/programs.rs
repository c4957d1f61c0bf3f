//! The programs whose dialogs `askbox live` holds.

use crate::commands::live::wire::{Asked, RequestId};
use crate::commands::live::{copilot, opencode, qwen};
use askbox_cli::args::askbox_args::LiveProgram;
use askbox_config::Config;
use askbox_mailbox::error::Result;
use askbox_mailbox::programs::{self, Facts};
use askbox_run::asking::request::Request;

/// A program whose dialogs are held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Program {
    Opencode,
    Copilot,
    Qwen,
}

impl From<LiveProgram> for Program {
    fn from(program: LiveProgram) -> Self {
        match program {
            LiveProgram::Opencode => Self::Opencode,
            LiveProgram::Copilot => Self::Copilot,
            LiveProgram::Qwen => Self::Qwen,
        }
    }
}

impl Program {
    /// What is known of it.
    pub(super) fn facts(self) -> &'static Facts {
        match self {
            Self::Opencode => &programs::OPENCODE,
            Self::Copilot => &programs::COPILOT,
            Self::Qwen => &programs::QWEN,
        }
    }

    /// True if the operator wants its dialogs in the mailbox.
    pub(super) fn is_wanted(self, config: &Config) -> bool {
        match self {
            Self::Opencode => config.live.opencode,
            Self::Copilot => config.live.experimental_copilot,
            Self::Qwen => config.live.experimental_qwen,
        }
    }

    /// Reads what the program has told of a dialog.
    ///
    /// # Errors
    /// If it is not one that a person can answer here.
    pub(super) fn read(self, asked: Asked) -> Result<(RequestId, Request)> {
        match self {
            Self::Opencode => opencode::read(asked),
            Self::Copilot => copilot::read(asked),
            Self::Qwen => qwen::request::read(asked),
        }
    }
}
