//! What happens to a question that is still pending at its `expires_at`.
//!
//! | `on_expiry` | effect |
//! |---|---|
//! | `default` | the asker's default becomes the answer, `by: "default"` (see [`super::accept`]) |
//! | `cancel` | the round is closed as `expired` (see [`super::close`]) |
//! | `keep` | the question stays open; one audit line and one notification say that it is overdue |

use crate::disk;
use crate::error::{Error, Result};
use crate::id::RoundId;
use crate::mailbox::audit::{self, Entry};
use crate::mailbox::documents::answer::{Answer, AnswerValue, BY_DEFAULT};
use crate::mailbox::documents::check_answer::Given;
use crate::mailbox::documents::closing::{Closed, Closing};
use crate::mailbox::documents::question::OnExpiry;
use crate::mailbox::layout::{Folder, Mailbox};
use crate::mailbox::transitions::{accept, close, settle};
use crate::mailbox::{round, timers};
use crate::time::Time;

/// The effect of an expiry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expiry {
    /// Nothing: the question is not due, or no longer pending.
    Nothing,
    /// The default cannot apply yet: an earlier answer of the workflow still waits to be claimed.
    Later,
    /// The question stays open and is overdue.
    Kept,
    /// The asker's default became the answer.
    Defaulted,
    /// The round is closed as expired.
    Cancelled,
}

/// Applies a question's `on_expiry`, if the question is due.
pub fn expire(mailbox: &Mailbox, round: &RoundId, now: Time) -> Result<Expiry> {
    let lock = mailbox.lock(&round.workflow)?;
    let document = match settle::settled_pending(mailbox, &lock) {
        Ok(document) => document,
        Err(e) if e.is_missing_file() => return Ok(Expiry::Nothing),
        Err(e) => return Err(e),
    };
    let due = document.typed.expires_at.filter(|at| *at <= now);
    let (Some(expires_at), true) = (due, round::of_pending(mailbox, &document.typed)? == *round) else {
        return Ok(Expiry::Nothing);
    };
    match (document.typed.on_expiry(), document.typed.default.clone()) {
        (OnExpiry::Default, Some(default)) => {
            drop(lock);
            apply_default(mailbox, round, default)
        }
        (OnExpiry::Cancel, _) => {
            close::pending(mailbox, &lock, document, Closing::now(Closed::Expired, "timer", None))?;
            Ok(Expiry::Cancelled)
        }
        _ if timers::note_overdue(mailbox, round, expires_at)? => {
            audit::record(mailbox, Entry::of("overdue", round).by("timer"));
            Ok(Expiry::Kept)
        }
        _ => Ok(Expiry::Nothing),
    }
}

fn apply_default(mailbox: &Mailbox, round: &RoundId, default: AnswerValue) -> Result<Expiry> {
    match accept::answer(mailbox, &round.workflow, Some(round.question), Answer::value(default, BY_DEFAULT, "timer"), Given::ByAsker) {
        Ok(_) => Ok(Expiry::Defaulted),
        Err(Error::Conflict { .. }) if disk::exists(mailbox.document(Folder::Pending, &round.workflow)) => Ok(Expiry::Later),
        // A person answered first.
        Err(Error::Conflict { .. } | Error::NotFound { .. }) => Ok(Expiry::Nothing),
        Err(e) => Err(e),
    }
}
