//! What a person asks of one workflow's run: run it now, or stop it.

use crate::config::Config;
use crate::disk::LockHolder;
use crate::error::{Error, Result};
use crate::id::WorkflowId;
use crate::mailbox::Mailbox;
use crate::run::attempt::failure::Class;
use crate::run::attempt::record::{self, Run};
use crate::run::claim::{self, ClaimAttempt, Refusal};
use crate::run::money::day::DayBudget;
use crate::run::recovery::{self, Recovered};
use crate::run::supervise::ownership::Attempt;
use crate::run::supervise::stop::stop_request;
use crate::run::supervise::stop::stop_request::Stop;
use crate::run::supervise::stop::wait_for_end;
use crate::run::view::status::{self, Standing};

/// What is to be done to run a workflow now.
#[derive(Debug)]
pub enum RunNow {
    /// Supervise this attempt.
    Supervise(Attempt),
    /// Nothing: its answer was delivered before.
    Delivered,
    /// Nothing can be claimed.
    Refused(Refusal),
}

/// Claims the answer of a workflow. If there is nothing to claim, goes on with a claimed round that no process supervises: one whose
/// supervisor died, whose back-off is not over, that was stopped, or that reached a limit.
///
/// # Errors
/// [`Error::Conflict`] where the day's money is used up: the answer stays where a watcher finds it on the next day.
pub fn run_now(mailbox: &Mailbox, config: &Config, workflow: &WorkflowId) -> Result<RunNow> {
    if let Err(spent) = DayBudget::check(mailbox, config) {
        return if status::of(mailbox, workflow)?.state == Standing::Delivered { Ok(RunNow::Delivered) } else { Err(spent) };
    }
    let refusal = match claim::take_to_launch(mailbox, config, workflow)? {
        ClaimAttempt::Claimed(claim) => return Ok(RunNow::Supervise(Attempt::Taken(claim))),
        ClaimAttempt::Refused(why @ (Refusal::NothingAnswered | Refusal::EarlierRound(_))) => why,
        ClaimAttempt::Refused(why) => return Ok(RunNow::Refused(why)),
    };
    match recovery::recover_now(mailbox, config, workflow)? {
        Some(Recovered::Launch(run) | Recovered::Claimed(run)) => return Ok(RunNow::Supervise((&*run).into())),
        Some(Recovered::Over) if status::of(mailbox, workflow)?.state == Standing::Delivered => return Ok(RunNow::Delivered),
        _ => {}
    }
    let now = status::of(mailbox, workflow)?;
    match now.state {
        Standing::Interrupted => {}
        // The operator has raised the limit.
        Standing::Parked if now.failure.is_some_and(Class::is_limit) => {}
        _ => return Ok(RunNow::Refused(refusal)),
    }
    Ok(RunNow::Supervise((&recovery::retry(mailbox, config, workflow)?).into()))
}

/// Stops the run of a workflow and waits until it is over. A claimed round that no process supervises is stopped at once. A supervisor
/// that a signal has stopped is continued, and `continued` is called. Returns the run as it ended.
///
/// # Errors
/// [`Error::NotFound`] where there is nothing to stop, [`Error::Waiting`] where the run does not end in time.
pub fn stop(
    mailbox: &Mailbox,
    workflow: &WorkflowId,
    request: &Stop,
    config: impl FnOnce() -> Result<Config>,
    continued: impl Fn(&LockHolder),
) -> Result<Run> {
    match stop_request::send(mailbox, workflow, request) {
        Ok(run) => {
            // A configuration that is broken now must not keep a run from being stopped.
            let grace = config().unwrap_or_default().limits.grace.0;
            wait_for_end::wait(mailbox, &run, wait_for_end::limit(request, grace), continued)?;
            record::read(mailbox, &run.round(), run.attempt)
        }
        Err(not_live @ Error::NotFound { .. }) => {
            let config = config()?;
            let why = request.request(config.limits.grace.0).why;
            recovery::stop_waiting(mailbox, &config, workflow, &why)?.ok_or(not_live)
        }
        Err(e) => Err(e),
    }
}
