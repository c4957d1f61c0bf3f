//! The state of a round: from the folder that it lies in, its document, its run's record and its locks.

use crate::attempt::record::{self, Claimant, Run, RunState};
use crate::story::shape::Standing;
use askbox_mailbox::{Closed, Folder, Lock, Mailbox, Question, Result, RoundId, Time, read_question, time};

/// A state, and since when.
type Since = (Standing, Option<Time>);

/// The state of a round with its newest run, and since when it has this state.
pub(super) fn of(mailbox: &Mailbox, folder: Folder, round: &RoundId, question: &Question, run: Option<&Run>) -> Result<Since> {
    Ok(match folder {
        // A program that died has left the ended question there.
        Folder::Pending if question.closed.is_some() => closed(question),
        Folder::Pending if question.until.is_some() => (Standing::Waiting, question.asked_at()),
        Folder::Pending if question.expires_at.is_some_and(|at| at < time::now()) => (Standing::Overdue, question.expires_at),
        Folder::Pending => (Standing::Pending, question.asked_at()),
        Folder::Answered => (Standing::Answered, question.answer.as_ref().and_then(|answer| answer.at)),
        Folder::Closed => closed(question),
        Folder::Parked => (parked(run), run.and_then(|run| run.ended_at)),
        _ => running(mailbox, round, run, || question.live.is_some())?,
    })
}

/// The state of a round in `running/` or `parked/`. Its document is read only if the answer may have been sent to a dialog.
pub fn standing_of(mailbox: &Mailbox, folder: Folder, round: &RoundId) -> Result<Standing> {
    let run = record::latest(mailbox, round)?;
    if folder == Folder::Parked {
        return Ok(parked(run.as_ref()));
    }
    let is_of_dialog = || read_question::of_round(&mailbox.round(folder, round), round).is_ok_and(|found| found.typed.live.is_some());
    Ok(running(mailbox, round, run.as_ref(), is_of_dialog)?.0)
}

fn parked(run: Option<&Run>) -> Standing {
    let is_interrupted = run.is_some_and(|run| run.state == RunState::Interrupted);
    if is_interrupted { Standing::Interrupted } else { Standing::Parked }
}

fn closed(question: &Question) -> Since {
    let Some(closing) = &question.closed else { return (Standing::Delivered, None) };
    let state = match closing.state {
        Closed::Delivered => Standing::Delivered,
        Closed::Withdrawn => Standing::Withdrawn,
        Closed::Expired => Standing::Expired,
        Closed::Superseded => Standing::Superseded,
        Closed::Dropped => Standing::Dropped,
    };
    (state, Some(closing.at))
}

fn running(mailbox: &Mailbox, round: &RoundId, run: Option<&Run>, is_of_dialog: impl FnOnce() -> bool) -> Result<Since> {
    let claimed = run.filter(|run| run.state == RunState::Claimed && run.claimant == Claimant::Inline);
    if let Some(run) = claimed.filter(|_| is_of_dialog()) {
        return Ok((Standing::Sent, Some(run.claimed_at)));
    }
    if Lock::is_held(&record::lock_path(mailbox, round))? {
        return Ok((Standing::Running, run.and_then(|r| r.started_at.or(Some(r.claimed_at)))));
    }
    Ok(match run {
        Some(run) if run.state == RunState::Failed && run.is_throttled() => (Standing::Throttled, run.ended_at),
        Some(run) if run.state == RunState::Failed => (Standing::Retrying, run.ended_at),
        Some(run) if run.state == RunState::Claimed && run.is_launch() && run.attempt > 1 => (Standing::Queued, Some(run.claimed_at)),
        Some(run) => (Standing::Orphaned, Some(run.claimed_at)),
        // A claimant holds the workflow's lock until it holds the round's: see `run/claim`.
        None if mailbox.is_locked(&round.workflow)? || Lock::is_held(&record::lock_path(mailbox, round))? => (Standing::Running, None),
        None => (Standing::Orphaned, None),
    })
}
