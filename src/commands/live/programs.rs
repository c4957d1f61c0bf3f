//! The programs whose dialogs `askbox live` holds, and how they differ.

use crate::commands::live::request::Request;
use crate::commands::live::wire::Asked;
use crate::commands::live::{copilot, opencode, qwen};
use askbox_cli::args::askbox_args::LiveProgram;
use askbox_config::Config;
use askbox_mailbox::error::Result;
use askbox_run::dialog::orphans::{COPILOT, OPENCODE, QWEN};

/// The begin of the name of this command in the questions that it ends. The name of the program follows.
pub(in crate::commands) const BY: &str = "askbox live ";

/// A program whose dialogs are held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Program {
    Opencode,
    /// An experiment: Copilot's extensions are one, too.
    Copilot,
    /// An experiment.
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
    /// Its name in a question.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Opencode => OPENCODE,
            Self::Copilot => COPILOT,
            Self::Qwen => QWEN,
        }
    }

    /// The name of this command in the questions that it ends. [`BY`] is its begin.
    pub(super) fn by(self) -> &'static str {
        match self {
            Self::Opencode => "askbox live opencode",
            Self::Copilot => "askbox live copilot",
            Self::Qwen => "askbox live qwen",
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
    pub(super) fn request(self, asked: Asked) -> Result<Request> {
        match self {
            Self::Opencode => opencode::read(asked),
            Self::Copilot => copilot::read(asked),
            Self::Qwen => qwen::request::read(asked),
        }
    }

    /// The reason of the end if another reply was first.
    pub(super) fn answered(self) -> &'static str {
        match self {
            Self::Opencode => "it was answered at its terminal, or by another client of opencode",
            Self::Copilot => "it was answered at its terminal, or by another extension of Copilot",
            Self::Qwen => "it was answered at its terminal",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_each_live_command_has_its_program() {
        for program in [Program::Opencode, Program::Copilot, Program::Qwen] {
            assert_eq!(program.by().strip_prefix(BY), Some(program.name()));
        }
    }
}
