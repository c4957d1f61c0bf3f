//! `ask-post --wait`: the asker stays for a while, and takes an answer that comes in time itself. While it waits it holds a
//! lock, so that no watcher launches somebody else for the same answer.

use std::time::{Duration, Instant};

use crate::config::Config;
use crate::disk::hints::Bell;
use crate::disk::{self, Lock};
use crate::error::{Error, Result};
use crate::id::{RoundId, WorkflowId};
use crate::mailbox::{Folder, Mailbox};
use crate::run::attempt::record::{self, Claimant};
use crate::run::claim::{self, Claim, ClaimAttempt, OnRecord};

/// The longest wait for the next look, where no event came.
const LOOK: Duration = Duration::from_millis(500);

/// The right to take a workflow's answer inline. Dropping it leaves the answer to the watcher.
#[derive(Debug)]
#[must_use = "nobody waits once this is dropped"]
pub struct Waiter {
    _lock: Lock,
}

/// Begins to wait; must be called before the answer can come, that is: before the post.
pub fn begin(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<Waiter> {
    let path = claim::waiter_path(mailbox, workflow);
    // A gc that prunes the workflow may remove folder and file right now: then once more.
    for _ in 0..100 {
        disk::create_folder(&mailbox.runs_of_workflow(workflow))?;
        match Lock::try_acquire(&path) {
            Ok(Some(lock)) if lock.is_named() => return Ok(Waiter { _lock: lock }),
            Ok(None) if path.exists() => break,
            Err(e) if !e.is_missing_file() => return Err(e),
            _ => {}
        }
    }
    Err(Error::conflict(format!("somebody waits for the answer of {workflow} already"), "let that one have it"))
}

impl Waiter {
    /// Waits for the answer of `round` and claims it; `None` when the time is over, or the round ended without an answer.
    /// Hand the answer over, then call [`Claim::delivered`].
    pub fn wait(self, mailbox: &Mailbox, round: &RoundId, patience: Duration) -> Result<Option<Claim<OnRecord>>> {
        let deadline = Instant::now() + patience;
        // Events only shorten the pauses; the folder is the truth.
        let bell = Bell::of_folder(&mailbox.folder(Folder::Answered)).ok();
        loop {
            if mailbox.document(Folder::Answered, &round.workflow).exists() {
                // No configuration: nothing is launched here.
                match claim::claim(mailbox, &Config::default(), &round.workflow, Claimant::Inline)? {
                    ClaimAttempt::Claimed(claim) if claim.round() == *round => return Ok(Some(*claim)),
                    ClaimAttempt::Claimed(_) | ClaimAttempt::Refused(_) => {}
                }
            }
            if record::latest(mailbox, round)?.is_some() || mailbox.round(Folder::Closed, round).exists() {
                return Ok(None);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            match &bell {
                Some(bell) => bell.wait(left.min(LOOK * 20)),
                None => std::thread::sleep(left.min(LOOK)),
            }
        }
    }
}
