//! An operator's commands for a claimed round that is not live: retry it, stop it, or drop it.

use std::path::Path;
use std::time::Duration;

use crate::asking::orphans;
use crate::attempt::ending::{self, Ending};
use crate::attempt::record::{self, Run, RunState};
use crate::attempt::suspended_call;
use crate::delivery::Delivery;
use crate::process::permitted::WorkFolder;
use crate::recovery::processes::{self, Left};
use crate::recovery::recover;
use crate::supervise::stop;
use askbox_config::Config;
use askbox_mailbox::audit::{self, Entry};
use askbox_mailbox::error::Hint;
use askbox_mailbox::{
    Closed, Closing, Error, Folder, Lock, Mailbox, Placed, Result, RoundId, WorkflowId, close, disk, list, quarantined_round, read_question,
};

/// How long the supervisor that has parked a round may take to end.
const ENDING: Duration = Duration::from_secs(20);

/// Brings the workflow's oldest parked round back to `running/`. Returns its new attempt, which may start at once. With `cwd`, it goes on
/// in that folder.
///
/// # Errors
/// [`Error::NotFound`] if no round is parked, [`Error::Conflict`] if another round of the workflow is being delivered or the round
/// is live or was dropped, [`Error::Failed`] if the operator does not permit the folder.
pub fn retry(mailbox: &Mailbox, config: &Config, workflow: &WorkflowId, cwd: Option<&Path>) -> Result<Run> {
    let cwd = cwd.map(|cwd| WorkFolder::open(config, cwd).map(WorkFolder::into_path)).transpose()?;
    let round = match parked_round(mailbox, workflow) {
        Err(Error::NotFound { message, hint }) => {
            return Err(Error::not_found(message, instead_of_retry(mailbox, workflow).map_or(hint, Hint::from)));
        }
        other => other?,
    };
    // The supervisor that has parked the round has it locked until its log is complete.
    let of_round = record::lock_path(mailbox, &round);
    Lock::is_free_within(&of_round, ENDING)?;
    let _lock = mailbox.lock(workflow)?;
    if let Some(busy) = list::round_names(mailbox, Folder::Running).find(|r| r.workflow == *workflow) {
        let hint = "wait for it: relaunch status";
        return Err(Error::conflict(format!("another round of {workflow} is being delivered ({})", busy.question), hint));
    }
    let Some(_held) = Lock::try_acquire(&of_round)? else {
        return Err(Error::conflict(format!("{round} has a live run"), "see: relaunch status"));
    };
    let parked = mailbox.round(Folder::Parked, &round);
    let document = read_question::document(&parked)?;
    if close::is_closed(mailbox, &round, &document) {
        disk::untouch(&parked)?;
        return Err(Error::conflict(format!("{round} was dropped before"), format!("see how: ask-answer show {workflow}")));
    }
    let last = record::latest(mailbox, &round)?.ok_or_else(|| Error::not_found(format!("{round} has no attempt"), "answer it again"))?;
    if let Some(on) = goes_on_in(mailbox, &last)? {
        return Err(Error::conflict(
            format!("the work of {round} went on in another session: its call asked {}, and an agent got the answer", on.question),
            format!("give up this round: relaunch drop {workflow}"),
        ));
    }
    end_processes(mailbox, &last)?;
    if disk::rename(&parked, &mailbox.round(Folder::Running, &round))? == Placed::NameExists {
        return Err(Error::conflict(format!("{round} is running already"), "see: relaunch status"));
    }
    audit::record(mailbox, Entry::about_round("retried", &round).by("operator"));
    // The person chooses the runner now. The earlier attempt may have had another one.
    let (runner, _) = config.runner_of(workflow)?;
    let last = Run { runner, ..last };
    recover::create_next(mailbox, config, &document.typed, &last, cwd)
}

/// True if a round of the workflow is parked.
pub fn is_parked(mailbox: &Mailbox, workflow: &WorkflowId) -> bool {
    parked_round(mailbox, workflow).is_ok()
}

/// True if a person stopped the parked round, with `relaunch stop` or by ending a command in the foreground. False if a limit stopped it.
pub fn was_stopped(mailbox: &Mailbox, round: &RoundId) -> bool {
    let last = record::latest(mailbox, round).ok().flatten();
    let by_limit = |run: &Run| stop::read_request(&run.folder(mailbox)).is_ok_and(|stop| stop.is_some_and(|stop| stop.by_limit));
    last.is_some_and(|run| run.state == RunState::Interrupted && run.failure.is_none() && !by_limit(&run))
}

/// Moves a file of the workflow that was mended in quarantine back to its old place, unless a round is parked. Returns whether there
/// was such a file: then the workflow can go on as after an answer.
///
/// # Errors
/// Those of [`quarantined_round::give_back`].
pub fn take_from_quarantine(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<bool> {
    if parked_round(mailbox, workflow).is_ok() {
        return Ok(false);
    }
    let lock = mailbox.lock(workflow)?;
    let Some(held) = quarantined_round::of_workflow(mailbox, workflow)? else { return Ok(false) };
    quarantined_round::give_back(mailbox, &lock, &held).map(|()| true)
}

/// Stops a claimed round that is not live: it is in its back-off, or abandoned. `None` if there is none, or if it has just become live.
pub fn stop_waiting(mailbox: &Mailbox, config: &Config, workflow: &WorkflowId, why: &str) -> Result<Option<Run>> {
    let Some(round) = list::round_names(mailbox, Folder::Running).find(|r| r.workflow == *workflow) else { return Ok(None) };
    // A claimant holds the workflow's lock until it holds the round's. Then its run is live, and can be asked to stop.
    let claiming = mailbox.lock(workflow)?;
    let Some(_held) = Lock::try_acquire(&record::lock_path(mailbox, &round))? else { return Ok(None) };
    drop(claiming);
    match record::latest(mailbox, &round)? {
        Some(run) if matches!(run.state, RunState::Failed | RunState::Claimed | RunState::Running) && run.is_launch() => {
            end_processes(mailbox, &run)?;
            ending::finish(mailbox, config, run, &Ending::Interrupted { why: why.into(), class: None }).map(Some)
        }
        _ => Ok(None),
    }
}

/// Ends the processes of the round's earlier attempts.
fn end_processes(mailbox: &Mailbox, run: &Run) -> Result<()> {
    match processes::end(mailbox, run)? {
        Left::Elsewhere { agent } => Err(processes::error(mailbox, run, &agent)),
        Left::None | Left::Here => Ok(()),
    }
}

/// Gives the workflow's oldest parked round up: it is closed as dropped, and its files are kept. The same for an answer that was sent to a
/// dialog, if the person knows that the session did not take it.
///
/// # Errors
/// [`Error::NotFound`] if no round is parked.
pub fn drop_parked(mailbox: &Mailbox, workflow: &WorkflowId, by: &str, why: Option<String>) -> Result<RoundId> {
    if let Some(sent) = orphans::sent(mailbox, workflow)? {
        let round = sent.round();
        return sent.close(mailbox, Closing::now(Closed::Dropped, by, why)).map(|()| round);
    }
    let round = parked_round(mailbox, workflow)?;
    let lock = mailbox.lock(workflow)?;
    close::claimed(mailbox, &lock, Folder::Parked, round.question, Closing::now(Closed::Dropped, by, why))?;
    Ok(round)
}

/// What to do with a workflow whose round is not parked but in `running/`: live, in its back-off, or abandoned.
fn instead_of_retry(mailbox: &Mailbox, workflow: &WorkflowId) -> Option<String> {
    let claimed = list::round_names(mailbox, Folder::Running).find(|r| r.workflow == *workflow)?;
    Some(if Lock::is_held(&record::lock_path(mailbox, &claimed)).unwrap_or(false) {
        format!("it is running; follow it: relaunch logs -f {workflow}")
    } else {
        format!("a watcher runs it again by itself; to run it now: relaunch {workflow}")
    })
}

fn parked_round(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<RoundId> {
    let parked = list::round_names(mailbox, Folder::Parked).filter(|r| r.workflow == *workflow).min();
    parked.ok_or_else(|| {
        Error::not_found(format!("no round of {workflow} is parked"), format!("see where it stands: relaunch status {workflow}"))
    })
}

/// The round in which another session goes on with the work of this run: a call of the run's session asked, and an agent was launched with
/// the answer.
///
/// # Errors
/// Those of [`record::latest`].
fn goes_on_in(mailbox: &Mailbox, run: &Run) -> Result<Option<RoundId>> {
    for (round, question) in suspended_call::later_rounds(mailbox, run, &[Folder::Running, Folder::Closed]) {
        let is_of_session = question.tool_call.is_some() && question.session_id == Some(run.session_id);
        let launched = record::latest(mailbox, &round)?.is_some_and(|last| Delivery::of_claimed(&question, &last) == Delivery::Launch);
        if is_of_session && launched {
            return Ok(Some(round));
        }
    }
    Ok(None)
}
