//! Questions whose hook was killed. The waiter's lock is free then, and nobody could take an answer.

use std::time::{Duration, Instant};

use crate::asking::receipt::End;
use crate::claim::{self, Claim, ClaimAttempt, OnRecord, inline};
use askbox_mailbox::programs::{CLAUDE, Facts};
use askbox_mailbox::transitions::withdraw;
use askbox_mailbox::{Error, Folder, Lock, Mailbox, Policy, Question, Result, RoundId, WorkflowId, list, read_question};

/// How long a hook may live after it was told to end.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often to look whether it has ended.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Withdraws a live question in `pending/` whose hook is gone. Returns `false` if the hook still waits.
///
/// # Errors
/// [`Error::Held`] if another process keeps the lock. [`Error::Io`] if the system refuses.
pub fn end_pending(mailbox: &Mailbox, question: &Question, round: &RoundId) -> Result<bool> {
    if question.live.is_none() || Lock::is_held(&mailbox.waiter(&round.workflow))? {
        return Ok(question.live.is_none());
    }
    match withdraw::withdraw_round(mailbox, round, "askbox", Some(Facts::of(question).is_gone())) {
        // It was answered or withdrawn just now.
        Ok(_) | Err(Error::Conflict { .. }) => Ok(true),
        Err(e) => Err(e),
    }
}

/// Ends what a hook has left whose dialog has ended in this way, as soon as the hook has ended: a question, or an answer that it can no
/// longer take. The hook may have done it itself.
///
/// # Errors
/// [`Error::Held`] if another process keeps the lock. [`Error::Io`] if the system refuses.
pub fn end_after_hook(mailbox: &Mailbox, workflow: &WorkflowId, how: &str) -> Result<()> {
    let until = Instant::now() + PATIENCE;
    while Lock::is_held(&mailbox.waiter(workflow))? && Instant::now() < until {
        std::thread::sleep(LOOK_EVERY);
    }
    if let Some((_, round)) = waiting(mailbox, workflow) {
        match withdraw::withdraw_round(mailbox, &round, CLAUDE.by, Some(how.to_owned())) {
            Err(Error::Conflict { .. }) => {}
            other => return other.map(drop),
        }
    }
    end_answered(mailbox, workflow)
}

/// The live question of a workflow that waits.
fn waiting(mailbox: &Mailbox, workflow: &WorkflowId) -> Option<(Question, RoundId)> {
    let question = read_question::pending(mailbox, workflow).ok()?.typed;
    let round = question.round().filter(|_| question.live.is_some())?;
    Some((question, round))
}

/// Withdraws the waiting question of a workflow if it is a live one whose hook is gone. So an answer to it is late, and is kept with it.
///
/// # Errors
/// [`Error::Held`] if another process keeps the lock. [`Error::Io`] if the system refuses.
pub fn end_waiting(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<()> {
    // Most questions are not live, and one field says so. Each answer comes along here.
    if !read_question::is_live(mailbox, workflow).unwrap_or(false) {
        return Ok(());
    }
    waiting(mailbox, workflow).map_or(Ok(()), |(question, round)| end_pending(mailbox, &question, &round).map(drop))
}

/// Closes the answer to a live question in `answered/` whose hook is gone. Nothing is done while the hook waits: it takes the answer.
///
/// # Errors
/// [`Error::Held`] if another process keeps the lock. [`Error::Io`] if the system refuses.
pub fn end_answered(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<()> {
    let _waiter = match inline::begin(mailbox, workflow) {
        Err(Error::Conflict { .. }) => return Ok(()),
        other => other?,
    };
    // An answer to another question is its asker's.
    let answered = read_question::document(&mailbox.document(Folder::Answered, workflow)).ok().map(|document| document.typed);
    let Some(round) = answered.filter(|question| question.live.is_some()).and_then(|question| question.round()) else { return Ok(()) };
    // The answer reaches nobody, so it does not matter who gave it.
    match claim::for_asker(mailbox, &round, &Policy::default())? {
        ClaimAttempt::Claimed(claim) => {
            let end = End::too_late(&Facts::of(&claim.document.typed).is_gone());
            end.close(*claim, mailbox, "askbox")
        }
        ClaimAttempt::Refused(_) => Ok(()),
    }
}

/// The claim of an answer that was sent to a workflow's dialog, and whose end nobody has told. `None` if there is none, or if the process that
/// sent it still looks for its end.
///
/// # Errors
/// [`Error::Io`] if the system refuses.
pub fn sent(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<Option<Claim<OnRecord>>> {
    let claimed = list::round_names(mailbox, Folder::Running).filter(|round| round.workflow == *workflow);
    let left = claimed.filter_map(|round| inline::left_behind(mailbox, &round).transpose());
    left.collect::<Result<Vec<_>>>().map(|left| left.into_iter().find(|claim| claim.document.typed.live.is_some()))
}
