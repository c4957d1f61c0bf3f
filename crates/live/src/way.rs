//! The way to the program: the JSON lines of its plugin, or the files of Qwen.

use crate::qwen::files::Files;
use crate::wire::{self, Incoming, Outgoing};
use askbox_cli::program;
use askbox_mailbox::Result;

/// The way to the program whose dialogs are held.
pub(super) enum Way {
    /// Standard input and output, whose other ends a plugin has.
    Plugin,
    /// The files of one process of Qwen.
    Files(Box<Files>),
}

impl Way {
    /// Reads a line. Returns the events in it that matter.
    pub(super) fn read(&mut self, line: &[u8]) -> Vec<Incoming> {
        match self {
            Self::Plugin => vec![wire::read(line)],
            Self::Files(files) => files.read(line),
        }
    }

    /// Sends a reply.
    ///
    /// # Errors
    /// If the plugin is gone, or the file cannot be written.
    pub(super) fn send(&mut self, reply: &Outgoing) -> Result<()> {
        match self {
            Self::Plugin => program::print_json(reply),
            Self::Files(files) => files.send(reply),
        }
    }

    /// Sends the replies again that are due again. Returns what has become of the others.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(super) fn send_again(&mut self) -> Result<Vec<Incoming>> {
        match self {
            Self::Plugin => Ok(Vec::new()),
            Self::Files(files) => files.send_again(),
        }
    }
}
