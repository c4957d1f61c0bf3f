//! The transition `pending/` → `closed/` on request: a question is taken back, and no agent is relaunched.
//!
//! Under the workflow's lock: settle the workflow, then close the question as `withdrawn` (see [`super::close`]).

use crate::{Closed, Closing, Error, Folder, Mailbox, Result, RoundId, WorkflowId, close, list, round, settle};

/// Takes the pending question of a workflow back. `by` is the name of the person or program that does so. Returns the round.
///
/// # Errors
/// - [`Error::NotFound`] if the workflow has no round.
/// - [`Error::Conflict`] if its newest round is no longer pending.
/// - [`Error::Invalid`] if the question cannot be used.
/// - [`Error::Held`] if another process keeps the lock.
/// - [`Error::Io`] if the system refuses.
pub fn withdraw(mailbox: &Mailbox, workflow: &WorkflowId, by: &str, why: Option<String>) -> Result<RoundId> {
    let lock = mailbox.lock(workflow)?;
    match settle::settled_pending(mailbox, &lock) {
        Ok(document) => close::pending(mailbox, &lock, document, Closing::now(Closed::Withdrawn, by, why)),
        Err(e) if e.is_missing_file() => Err(match round::latest(mailbox, workflow) {
            None => list::never_asked(mailbox, workflow),
            Some(round) => {
                let state = round.document.typed.closed.map_or(round.folder.name(), |c| c.state.word());
                let problem = format!("the question of {workflow} is no longer pending: it is {state}");
                let hint = match round.folder {
                    Folder::Answered => ("take its answer back first", format!("ask-answer undo {workflow}")),
                    Folder::Running => ("stop its run", format!("relaunch stop {workflow}")),
                    Folder::Parked => ("give its round up", format!("relaunch drop {workflow}")),
                    _ => ("look at it", format!("ask-answer show {workflow}")),
                };
                Error::conflict(problem, hint)
            }
        }),
        Err(e) => Err(e),
    }
}

/// Takes the question of this round back, but never a newer one of its workflow.
///
/// # Errors
/// [`Error::Conflict`] if the question of this round is no longer pending. [`Error::Invalid`] if the question cannot be used.
/// [`Error::Held`] if another process keeps the lock. [`Error::Io`] if the system refuses.
pub fn withdraw_round(mailbox: &Mailbox, round: &RoundId, by: &str, why: Option<String>) -> Result<RoundId> {
    let lock = mailbox.lock(&round.workflow)?;
    match settle::settled_pending(mailbox, &lock) {
        Ok(document) if round::of_pending(mailbox, &document.typed)? == *round => {
            close::pending(mailbox, &lock, document, Closing::now(Closed::Withdrawn, by, why))
        }
        Ok(document) => {
            let now = round::of_pending(mailbox, &document.typed)?.question;
            let problem =
                format!("{} asks another question by now (round {now}, not {}); nothing was withdrawn", round.workflow, round.question);
            Err(Error::conflict(problem, ("look at it", format!("ask-answer show {}", round.workflow))))
        }
        Err(e) if !e.is_missing_file() => Err(e),
        Err(_) => {
            let problem = format!("round {} of {} is no longer pending", round.question, round.workflow);
            Err(Error::conflict(problem, ("look at it", format!("ask-answer show {}", round.workflow))))
        }
    }
}
