//! The receipt of an answer that the agent has fetched: `fetched` in the folder of the attempt. A process of the run leaves it after it has
//! read the answer out of the checkpoint.
//!
//! The receipt is made of the attempt's nonce, and no file holds that. So only a process of this attempt can make it, and only the
//! supervisor that has made the nonce can check it.

use std::path::PathBuf;

use askbox_mailbox::documents::fields::asked_in::{AskedIn, Nonce};
use askbox_mailbox::{AttemptId, Checkpoint, Mailbox, Result, WorkflowId, asked_within, disk};

/// The name of the file.
pub const FILE: &str = "fetched";
/// The largest receipt, in bytes.
const LARGEST: u64 = 64;

/// Leaves the receipt, durably, if this checkpoint holds the answer of the run's round. `run` and `nonce` come from the environment of the
/// calling process.
pub fn note(mailbox: &Mailbox, run: &AttemptId, nonce: &Nonce, workflow: &WorkflowId, read: &Checkpoint) -> Result<()> {
    let is_its_answer = *workflow == run.round.workflow && read.user_answer.is_some() && read.user_answer_to == Some(run.round.question);
    let caller = AskedIn { run: run.clone(), proof: nonce.proof() };
    if !is_its_answer || is_noted(mailbox, run, nonce) || asked_within::session(mailbox, &caller)?.is_none() {
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
