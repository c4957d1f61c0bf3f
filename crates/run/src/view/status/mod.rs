//! The status of workflows: the state of each workflow's newest round. It is derived from the folder that the round lies in, the run's
//! record and its locks. `shape` has the content of a status ([`Status`], [`Standing`], [`View`]), `awaited` what a workflow that awaits others
//! needs to go on, `open_workflows` the statuses of all that are not over, one by one.

mod awaited;
mod open_workflows;
mod shape;

use crate::attempt::record::{self, Run, RunState};
use crate::delivery::{self, Delivery};
use crate::dialog::next_prompt;
use crate::money::costs;
use crate::supervise::stop;
use crate::view::activity::Live;
use crate::view::activity_so_far;
use askbox_mailbox::disk::Lock;
use askbox_mailbox::documents::answer::AnswerValue;
use askbox_mailbox::documents::fields::closing::{Closed, Closing};
use askbox_mailbox::due::timers;
use askbox_mailbox::error::{Error, Result};
use askbox_mailbox::family::awaits;
use askbox_mailbox::id::{RoundId, WorkflowId};
use askbox_mailbox::listing::{list, near_id, recent_rounds};
use askbox_mailbox::quarantine::quarantined_round::{self, QuarantinedRound};
use askbox_mailbox::time::{self, Time};
use askbox_mailbox::{Folder, Mailbox, Question, read_question, round, text};

pub use open_workflows::OpenWorkflows;
pub use shape::{Standing, Status, View};

/// The limit of [`Status::question`], in bytes: a view holds the statuses of all workflows.
const QUESTION: usize = 4000;
/// The limit of [`Status::answer`], in bytes.
const ANSWER: usize = 64 << 10;

/// The work of a round so far, in all attempts. `is_live` is true if a process of the run is left.
fn view(mailbox: &Mailbox, round: &RoundId, is_live: bool) -> Result<View> {
    let mut live = Live::default();
    for attempt in record::attempts(mailbox, round)? {
        live.add_attempt(activity_so_far::of_attempt(&record::folder(mailbox, round, attempt))?);
    }
    if !is_live {
        live.ended();
    }
    Ok(View::of_live(&live, time::now()))
}

/// The work of a round's run in all attempts, whether the run is over or not.
pub fn work_of(mailbox: &Mailbox, round: &RoundId) -> Result<View> {
    view(mailbox, round, false)
}

/// The status of every workflow that is not over, by id.
pub fn open(mailbox: &Mailbox) -> Result<Vec<Status>> {
    Ok(OpenWorkflows::find(mailbox)?.statuses(mailbox).collect())
}

/// The status to show. An unreadable file gets a status that reports it. A file that is missing has just moved to another folder and is
/// left out.
fn shown(workflow: &WorkflowId, status: Result<Status>) -> Option<Status> {
    match status {
        Ok(status) => Some(status),
        Err(e) if e.is_missing_file() => None,
        Err(e) => Some(unreadable(workflow, &e)),
    }
}

/// The status of one workflow, open or over, with what its run did.
///
/// # Errors
/// [`Error::NotFound`] if the workflow has no round.
pub fn of_workflow(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<Status> {
    let mut status = standing(mailbox, workflow)?;
    if let (None, Some(_), Some(question)) = (&status.live, status.attempt, status.question_id) {
        let round = RoundId { workflow: workflow.clone(), question };
        status.live = view(mailbox, &round, false).ok();
    }
    if status.state == Standing::Awaiting {
        status.todo = Some(awaited::todo(mailbox, workflow, at_a_glance));
    }
    Ok(status)
}

/// The status of one of many workflows: errors become a status, and the events of a run that has ended are not read.
#[must_use]
pub fn at_a_glance(mailbox: &Mailbox, workflow: &WorkflowId) -> Status {
    standing(mailbox, workflow).unwrap_or_else(|e| unreadable(workflow, &e))
}

/// [`at_a_glance`] for a workflow whose rounds are all closed.
#[must_use]
pub fn of_closed(mailbox: &Mailbox, workflow: &WorkflowId) -> Status {
    match recent_rounds::closed_last(mailbox, workflow, 1).pop() {
        Some((round, document)) => of_round(mailbox, Folder::Closed, &round, &document.typed).unwrap_or_else(|e| unreadable(workflow, &e)),
        None => Status::blank(workflow, Standing::Unknown),
    }
}

/// The status of a workflow whose document or record cannot be read.
#[must_use]
pub fn unreadable(workflow: &WorkflowId, error: &Error) -> Status {
    let (state, why) = match error {
        e if e.is_missing_file() || matches!(e, Error::NotFound { .. }) => (Standing::Unknown, None),
        e => (Standing::Unreadable, Some(e.to_string())),
    };
    Status { why, ..Status::blank(workflow, state) }
}

/// The status of a workflow that has a file in quarantine and nothing else that is open.
fn parked(held: &QuarantinedRound) -> Status {
    Status {
        question_id: held.question,
        since: held.since,
        why: Some(held.why()),
        todo: Some(held.todo()),
        ..Status::blank(&held.workflow, Standing::Parked)
    }
}

/// The status of a later round, with a remark that an earlier one lies in quarantine.
fn beside(status: Status, held: &QuarantinedRound) -> Status {
    let why = status.why.iter().cloned().chain([format!("an earlier round is parked: {}", held.why())]).collect::<Vec<_>>().join("; ");
    Status { why: Some(why), todo: status.todo.or_else(|| Some(held.todo())), ..status }
}

fn standing(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<Status> {
    let Some(held) = quarantined_round::of_workflow(mailbox, workflow)? else { return readable_standing(mailbox, workflow) };
    match readable_standing(mailbox, workflow) {
        Ok(status) if status.state.is_open() => Ok(beside(status, &held)),
        Ok(_) | Err(Error::NotFound { .. }) => Ok(parked(&held)),
        Err(e) => Err(e),
    }
}

/// The status from the documents outside of quarantine.
fn readable_standing(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<Status> {
    // Read before the rounds, because everything that ends a wait creates a round first.
    let waits = awaits::of_parent(mailbox, workflow)?;
    let found = round::latest(mailbox, workflow);
    // Such a file would be the newest round, unless something later waits or runs.
    if found.as_ref().is_none_or(|found| found.folder == Folder::Closed)
        && let Some(unusable) = round::unusable_file(mailbox, workflow)
    {
        return Err(unusable);
    }
    let found = found.ok_or_else(|| unknown(mailbox, workflow))?;
    let running = list::round_names(mailbox, Folder::Running).find(|r| r.workflow == *workflow);
    if let Some(round) = running
        && matches!(found.folder, Folder::Pending | Folder::Answered)
        && Lock::is_held(&record::lock_path(mailbox, &round))?
    {
        match read_question::document(&mailbox.round(Folder::Running, &round)) {
            Ok(document) => return of_round(mailbox, Folder::Running, &round, &document.typed),
            // The run has just ended. The round that waits beside it is the newest one now.
            Err(e) if e.is_missing_file() => {}
            Err(e) => return Err(e),
        }
    }
    let status = of_round(mailbox, found.folder, &found.id, &found.document.typed)?;
    if found.folder == Folder::Pending {
        return Ok(with_earlier_answer(mailbox, status));
    }
    if let (Standing::Dropped, Some(closing)) = (status.state, &found.document.typed.closed) {
        return Ok(Status { why: Some(given_up(closing, status.why.as_deref())), ..status });
    }
    if status.state != Standing::Delivered || waits.is_empty() {
        return Ok(status);
    }
    let whom: Vec<_> = waits.iter().map(|w| w.typed.child.as_str()).collect();
    // The agent ended its turn with this text, but it is not the workflow's result.
    Ok(Status { state: Standing::Awaiting, why: Some(format!("waits for {}", whom.join(", "))), result: None, ..status })
}

/// The status of a pending question. If the answer to the question before it still waits for a run, the status mentions that, because
/// the pending question would hide it.
fn with_earlier_answer(mailbox: &Mailbox, status: Status) -> Status {
    let Ok(earlier) = read_question::answered(mailbox, &status.workflow_id) else { return status };
    let is_this = round::round_of(mailbox, &earlier.typed).is_ok_and(|round| Some(round.question) == status.question_id);
    if is_this || earlier.typed.answer.is_none() {
        return status;
    }
    let also = format!("the answer to its question before waits for a run: {}", text::excerpt(&earlier.typed.title(), 60));
    let why = status.why.iter().cloned().chain([also]).collect::<Vec<_>>().join("; ");
    Status { why: Some(why), ..status }
}

/// The error for a workflow without rounds.
#[must_use]
pub fn unknown(mailbox: &Mailbox, workflow: &WorkflowId) -> Error {
    let meant = near_id::did_you_mean(mailbox, workflow);
    Error::not_found(
        format!("nothing is known of {workflow}"),
        format!(
            "{meant}list the workflows: relaunch status; `askbox gc` archives and prunes those that were over for long; archived rounds: askbox history {workflow}"
        ),
    )
}

/// The status of one round in `folder`, given its document.
pub fn of_round(mailbox: &Mailbox, folder: Folder, round: &RoundId, question: &Question) -> Result<Status> {
    let run = match folder {
        Folder::Pending | Folder::Answered => None,
        _ => record::latest(mailbox, round)?,
    };
    let cost = if run.is_some() { costs::of_round(mailbox, round)? } else { None };
    with_run(mailbox, folder, round, question, run, cost)
}

/// The status of a closed round, given its document and the records of its attempts. The files are elsewhere: in the archive.
pub fn of_archived(mailbox: &Mailbox, round: &RoundId, question: &Question, attempts: &[Run]) -> Result<Status> {
    with_run(mailbox, Folder::Closed, round, question, attempts.last().cloned(), costs::of_attempts(attempts))
}

/// [`of_round`] for a round whose `run.json` cannot be read: the status from its folder and its document, and the reason why there is
/// no more.
pub fn without_record(mailbox: &Mailbox, folder: Folder, round: &RoundId, question: &Question, error: &Error) -> Result<Status> {
    let status = with_run(mailbox, folder, round, question, None, None)?;
    let why = status.why.into_iter().chain([format!("what its runs did cannot be read: {error}")]).collect::<Vec<_>>().join("; ");
    Ok(Status { why: Some(why), ..status })
}

fn with_run(
    mailbox: &Mailbox,
    folder: Folder,
    round: &RoundId,
    question: &Question,
    run: Option<Run>,
    cost: Option<f64>,
) -> Result<Status> {
    let answered_at = question.answer.as_ref().and_then(|a| a.at);
    let (state, since) = match folder {
        // A program that died has left the ended question there.
        Folder::Pending if question.closed.is_some() => closed(question),
        Folder::Pending if question.asked.until.is_some() => (Standing::Waiting, question.asked_at()),
        Folder::Pending if question.asked.expires_at.is_some_and(|at| at < time::now()) => (Standing::Overdue, question.asked.expires_at),
        Folder::Pending => (Standing::Pending, question.asked_at()),
        Folder::Answered => (Standing::Answered, answered_at),
        Folder::Closed => closed(question),
        Folder::Parked => (
            if run.as_ref().is_some_and(|r| r.progress.state == RunState::Interrupted) { Standing::Interrupted } else { Standing::Parked },
            run.as_ref().and_then(|r| r.progress.ended_at),
        ),
        _ => running(mailbox, round, run.as_ref())?,
    };
    let wait = question.asked.until.as_ref().filter(|_| state == Standing::Waiting);
    // The waiter's lock is not looked at: a look holds it for a moment, and a status may be asked for at any time.
    let to_session = state == Standing::Answered && Delivery::asked_for(question) == Delivery::Session;
    let is_undecided = state == Standing::Overdue && timers::is_undecided(mailbox, question, round);
    let refused = question.taken_back.as_ref().filter(|_| question.answer.is_none()).and_then(|back| back.refused.as_ref());
    let live = match (&run, state) {
        (Some(run), Standing::Running) => view(mailbox, round, true).ok().map(|view| match stop::read_request(&run.folder(mailbox)) {
            Ok(Some(_)) => view.stopping(),
            _ => view,
        }),
        _ => None,
    };
    Ok(Status {
        live,
        answer: run.as_ref().and_then(|_| taken_by_its_session(question)),
        is_of_session: to_session,
        question_id: Some(round.question),
        question: text::beginning(&question.title(), QUESTION),
        asked_by: question.asked.asked_by.clone(),
        since,
        attempt: run.as_ref().map(|r| r.attempt),
        // No session exists if a process claimed the answer itself.
        session_id: run.as_ref().filter(|r| r.is_launch()).map(|r| r.plan.session_id),
        auto: run.as_ref().and_then(|r| r.plan.auto.clone()),
        retry_at: run.as_ref().and_then(|r| r.progress.retry_at),
        why: run
            .as_ref()
            .and_then(|r| r.progress.why.clone())
            .or_else(|| question.closed.as_ref().and_then(|c| c.why.clone()))
            .or_else(|| refused.map(|why| format!("an answer was refused: {why}")))
            .or_else(|| is_undecided.then(|| timers::UNDECIDED.into()))
            .or_else(|| to_session.then(|| format!("{} takes the answer itself", Delivery::Session.who())))
            .or_else(|| wait.map(|until| until.not_for_a_person(&question.question, question.asked.expires_at))),
        failure: run.as_ref().and_then(|r| r.progress.failure.as_ref()).map(|f| f.class),
        // A round that is over needs no action, unless its answer has reached nobody.
        todo: run
            .as_ref()
            .filter(|_| state.is_open())
            .and_then(|r| r.progress.failure.as_ref())
            .map(|f| f.todo.clone())
            .filter(|t| !t.is_empty())
            .or_else(|| (state == Standing::Interrupted).then(|| after_a_stop(&round.workflow, run.as_ref())))
            .or_else(|| to_session.then(|| instead_of_its_session(question)))
            .or_else(|| (folder == Folder::Closed).then(|| next_prompt::offer(question)).flatten()),
        cost_usd: cost.filter(|c| *c > 0.0),
        result: run.and_then(|r| r.progress.result),
        ..Status::blank(&round.workflow, state)
    })
}

/// The answer that its session has taken. The session may have no checkpoint to read it from.
fn taken_by_its_session(question: &Question) -> Option<String> {
    let answer = question.answer.as_ref().filter(|_| Delivery::asked_for(question) == Delivery::Session)?;
    let value = answer.value.as_ref().map_or_else(|| answer.word().to_owned(), AnswerValue::to_text);
    let note = answer.note.as_deref().map(|note| format!("\n{note}")).unwrap_or_default();
    Some(text::beginning(&(value + &note), ANSWER))
}

/// Says who gave a round up, and what had become of its run.
fn given_up(closing: &Closing, of_run: Option<&str>) -> String {
    let why = closing.why.as_deref();
    let run = of_run.filter(|run| Some(*run) != why).map(|why| format!("; its run before: {why}")).unwrap_or_default();
    let why = why.map(|why| format!(": {why}")).unwrap_or_default();
    format!("given up by {}{why}{run}", text::excerpt(&closing.by, 60))
}

/// The commands for a run that was stopped.
fn after_a_stop(workflow: &WorkflowId, run: Option<&Run>) -> String {
    if run.is_some_and(Run::is_exec) {
        return format!("go on: relaunch exec {workflow} -- PROGRAM; or give it up: relaunch drop {workflow}");
    }
    format!("go on: relaunch {workflow}; or give it up: relaunch drop {workflow}")
}

/// The commands for a person whose answer waits for its session.
fn instead_of_its_session(question: &Question) -> String {
    let resume = delivery::resume_command(question).map(|command| format!("resume it: {command}; or ")).unwrap_or_default();
    format!("{resume}start an agent with the answer: relaunch {}", question.workflow_id)
}

/// The state of a round in `running/` or `parked/`, without reading its document.
pub fn standing_of(mailbox: &Mailbox, folder: Folder, round: &RoundId) -> Result<Standing> {
    let run = record::latest(mailbox, round)?;
    Ok(match (folder, run) {
        (Folder::Parked, Some(run)) if run.progress.state == RunState::Interrupted => Standing::Interrupted,
        (Folder::Parked, _) => Standing::Parked,
        (_, run) => running(mailbox, round, run.as_ref())?.0,
    })
}

fn closed(question: &Question) -> (Standing, Option<Time>) {
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

fn running(mailbox: &Mailbox, round: &RoundId, run: Option<&Run>) -> Result<(Standing, Option<Time>)> {
    if Lock::is_held(&record::lock_path(mailbox, round))? {
        return Ok((Standing::Running, run.and_then(|r| r.progress.started_at.or(Some(r.progress.claimed_at)))));
    }
    Ok(match run {
        Some(run) if run.progress.state == RunState::Failed && run.is_throttled() => (Standing::Throttled, run.progress.ended_at),
        Some(run) if run.progress.state == RunState::Failed => (Standing::Retrying, run.progress.ended_at),
        Some(run) if run.progress.state == RunState::Claimed && run.is_launch() && run.attempt > 1 => {
            (Standing::Queued, Some(run.progress.claimed_at))
        }
        Some(run) => (Standing::Orphaned, Some(run.progress.claimed_at)),
        // A claimant holds the workflow's lock until it holds the round's: see `run/claim`.
        None if mailbox.is_locked(&round.workflow)? || Lock::is_held(&record::lock_path(mailbox, round))? => (Standing::Running, None),
        None => (Standing::Orphaned, None),
    })
}
