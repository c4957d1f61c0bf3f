//! The end of a question's wait without a person: its event comes, or its `expires_at`.
//!
//! A question that waits for an event (`until`) is answered by the event, `by: "event"`. This happens whenever a program finds that
//! the event has come, even after `expires_at`. Otherwise, at `expires_at`:
//!
//! | `on_expiry` | effect |
//! |---|---|
//! | `default` | the asker's default becomes the answer, `by: "default"` (see [`super::accept`]); where answers must be signed, the
//! question stays open as with `keep` |
//! | `cancel` | the round is closed as `expired` (see [`super::close`]) |
//! | `keep` | the question stays open; one audit line and one notification say that it is overdue |

use crate::audit::{self, Entry};
use crate::documents::answer::BY_DEFAULT;
use crate::documents::checks::check_answer::Given;
use crate::{
    Answer, Caller, Closed, Closing, Decision, Error, Folder, Mailbox, On, OnExpiry, Policy, Question, QuestionDocument, Result, RoundId,
    Time, Until, WorkflowLock, accept, close, disk, round, settle, timers,
};

/// The effect of an expiry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expiry {
    /// The question is not due, or is no longer pending. No change was made.
    Nothing,
    /// The question cannot be answered yet, because an earlier answer of the workflow still waits to be claimed.
    Later,
    /// The event became the answer.
    Came,
    /// The question stays open and is overdue.
    Kept,
    /// The asker's default became the answer.
    Defaulted,
    /// The round is closed as expired.
    Cancelled,
}

/// Answers a question with its event, `until`. The caller has found that the event has come. Does nothing if the pending question
/// is another one.
///
/// # Errors
/// [`Error::Invalid`] or [`Error::Newer`] if the question cannot be used. [`Error::Held`] if another process keeps the lock.
/// [`Error::Io`] if the system refuses.
pub fn come(mailbox: &Mailbox, round: &RoundId, until: &Until) -> Result<Expiry> {
    let lock = mailbox.lock(&round.workflow)?;
    let waits = pending(mailbox, &lock, round)?.filter(|document| document.typed.until.as_ref() == Some(until));
    let Some(document) = waits else { return Ok(Expiry::Nothing) };
    drop(lock);
    answer(mailbox, round, &document.typed, until.answer(), Expiry::Came)
}

/// Answers a question that waits for a time, if that time has come, or applies its `on_expiry`, if that is due. If both are due,
/// the earlier one counts. `now` is the time to compare with.
///
/// # Errors
/// [`Error::Invalid`] or [`Error::Newer`] if the question cannot be used. [`Error::Held`] if another process keeps the lock.
/// [`Error::Io`] if the system refuses.
pub fn expire(mailbox: &Mailbox, policy: &Policy, round: &RoundId, now: Time) -> Result<Expiry> {
    let lock = mailbox.lock(&round.workflow)?;
    let Some(document) = pending(mailbox, &lock, round)? else { return Ok(Expiry::Nothing) };
    let due = document.typed.expires_at.filter(|at| *at <= now);
    if let Some(until @ Until::At(at)) = &document.typed.until
        && *at <= due.unwrap_or(now)
    {
        drop(lock);
        return answer(mailbox, round, &document.typed, until.answer(), Expiry::Came);
    }
    let Some(expires_at) = due else { return Ok(Expiry::Nothing) };
    match (document.typed.on_expiry(), policy.value_in_time(&document.typed)) {
        (OnExpiry::Default, Some(value)) => {
            drop(lock);
            answer(mailbox, round, &document.typed, Answer::value(value, BY_DEFAULT, "timer"), Expiry::Defaulted)
        }
        (OnExpiry::Cancel, _) => {
            close::pending(mailbox, &lock, document, Closing::now(Closed::Expired, "timer", None))?;
            Ok(Expiry::Cancelled)
        }
        _ if timers::note_overdue(mailbox, round, expires_at)? => {
            let is_open = document.typed.on_expiry() == OnExpiry::Default;
            audit::record(mailbox, Entry::about_round("overdue", round).by("timer").why(if is_open { timers::UNDECIDED } else { "" }));
            Ok(Expiry::Kept)
        }
        _ => Ok(Expiry::Nothing),
    }
}

/// Returns the pending question, if it belongs to this round.
fn pending(mailbox: &Mailbox, lock: &WorkflowLock, round: &RoundId) -> Result<Option<QuestionDocument>> {
    let Some(document) = disk::if_there(settle::settled_pending(mailbox, lock))? else { return Ok(None) };
    Ok((round::of_pending(mailbox, &document.typed)? == *round).then_some(document))
}

fn answer(mailbox: &Mailbox, round: &RoundId, question: &Question, reply: Answer, done: Expiry) -> Result<Expiry> {
    let asker = Caller::asker();
    let decision = Decision { caller: &asker, on: On::question(round, question)?, given: Given::ByAsker };
    match accept::answer_pending(mailbox, &round.workflow, decision, |_| Ok(reply)) {
        Ok(Some(_)) => Ok(done),
        // A person was first.
        Ok(None) => Ok(Expiry::Nothing),
        Err(Error::Conflict { .. }) if disk::exists(mailbox.document(Folder::Pending, &round.workflow)) => Ok(Expiry::Later),
        Err(Error::Conflict { .. }) => Ok(Expiry::Nothing),
        Err(e) => Err(e),
    }
}
