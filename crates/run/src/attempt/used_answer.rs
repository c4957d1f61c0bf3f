//! Answers that may be used once: the mark of a round whose answer has allowed a call, or was given to a server.
//!
//! The receipt of an answer that the agent has fetched: `fetched` in the folder of the attempt. A process of the run leaves it after it has
//! read the answer out of the checkpoint.
//!
//! The receipt is made of the attempt's nonce, and no file holds that. So only a process of this attempt can make it, and only the
//! supervisor that has made the nonce can check it.

use std::path::PathBuf;

use askbox_mailbox::documents::fields::asked_in::{AskedIn, Nonce};
use askbox_mailbox::{AttemptId, Checkpoint, Mailbox, Placed, Result, RoundId, WorkflowId, caller, disk};

/// The use of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr, strum::VariantNames)]
#[strum(serialize_all = "snake_case")]
pub enum Use {
    /// A tool call was let through.
    Approved,
    /// The answer was given to an MCP server.
    Given,
}

/// The names of the marks, in the round's folder `runs/W/Q`.
pub const MARKS: &[&str] = <Use as strum::VariantNames>::VARIANTS;

impl Use {
    /// Uses the round's answer up, durably and before anything comes of it. Returns `false` if it was used before.
    pub fn take(self, mailbox: &Mailbox, round: &RoundId) -> Result<bool> {
        disk::create(&self.mark(mailbox, round), b"").map(|placed| placed == Placed::Done)
    }

    /// Whether the round's answer is used.
    pub fn is_taken(self, mailbox: &Mailbox, round: &RoundId) -> bool {
        disk::exists(self.mark(mailbox, round))
    }

    fn mark(self, mailbox: &Mailbox, round: &RoundId) -> PathBuf {
        mailbox.runs_of(round).join(<&str>::from(self))
    }
}

/// The name of the file.
pub const FILE: &str = "fetched";
/// The largest receipt, in bytes.
const LARGEST: u64 = 64;

/// Leaves the receipt, durably, if this checkpoint holds the answer of the run's round. `run` and `nonce` come from the environment of the
/// calling process.
pub fn note(mailbox: &Mailbox, run: &AttemptId, nonce: &Nonce, workflow: &WorkflowId, read: &Checkpoint) -> Result<()> {
    let is_its_answer = *workflow == run.round.workflow && read.user_answer.is_some() && read.user_answer_to == Some(run.round.question);
    let caller = AskedIn { run: run.clone(), proof: nonce.proof() };
    if !is_its_answer || is_noted(mailbox, run, nonce) || caller::session(mailbox, &caller)?.is_none() {
        return Ok(());
    }
    disk::replace(&path(mailbox, run), nonce.receipt().to_string().as_bytes())
}

/// True if a process of the attempt with this nonce has left the receipt.
pub fn is_noted(mailbox: &Mailbox, run: &AttemptId, nonce: &Nonce) -> bool {
    disk::read(&path(mailbox, run), LARGEST).is_ok_and(|receipt| receipt == nonce.receipt().to_string().as_bytes())
}

fn path(mailbox: &Mailbox, run: &AttemptId) -> PathBuf {
    mailbox.attempt(run).join(FILE)
}
