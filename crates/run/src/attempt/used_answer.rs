//! Answers that may be used once: the mark of a round whose answer has allowed a call, or was given to a server.

use std::path::PathBuf;

use askbox_mailbox::{Mailbox, Placed, Result, RoundId, disk};

/// The use of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// A tool call was let through.
    Approved,
    /// The answer was given to an MCP server.
    Given,
}

/// The names of the marks, in the round's folder `runs/W/Q`.
pub const MARKS: [&str; 2] = [Use::Approved.name(), Use::Given.name()];

impl Use {
    const fn name(self) -> &'static str {
        match self {
            Self::Approved => "approved",
            Self::Given => "given",
        }
    }

    /// Uses the round's answer up, durably and before anything comes of it. Returns `false` if it was used before.
    pub fn take(self, mailbox: &Mailbox, round: &RoundId) -> Result<bool> {
        disk::create(&self.mark(mailbox, round), b"").map(|placed| placed == Placed::Done)
    }

    /// Whether the round's answer is used.
    pub fn is_taken(self, mailbox: &Mailbox, round: &RoundId) -> bool {
        disk::exists(self.mark(mailbox, round))
    }

    fn mark(self, mailbox: &Mailbox, round: &RoundId) -> PathBuf {
        mailbox.runs_of(round).join(self.name())
    }
}
