//! A person's commands to one workflow's run: run it now, or stop it.

use crate::attempt::failure::Class;
use crate::claim::{self, ClaimAttempt, Refusal};
use crate::money::day::DayBudget;
use crate::recovery::{self, Recovered};
use crate::supervise::ownership::Attempt;
use crate::supervise::stop::{self, Stop};
use crate::{Run, RunState, Standing, Teller, programs, record, run_processes, story};
use askbox_config::Config;
use askbox_mailbox::{Error, LockHolder, Mailbox, Result, WorkflowId};

/// The step that runs a workflow now.
pub enum RunNow {
    /// Supervise this attempt.
    Supervise(Attempt),
    /// Nothing: its answer was delivered before.
    Delivered,
    /// Nothing can be claimed.
    Refused(Refusal),
}

/// Claims the answer of a workflow. If there is nothing to claim, goes on with a claimed round that no process supervises. Such a round
/// lost its supervisor, waits for its back-off, was stopped, or reached a limit.
///
/// # Errors
/// [`Error::Conflict`] if the day's money is used up, or if the agent's program cannot be started. The answer stays in its place, and a
/// watcher finds it there.
pub fn run_now(mailbox: &Mailbox, config: &Config, workflow: &WorkflowId) -> Result<RunNow> {
    run_processes::check_visible()?;
    if let Err(spent) = DayBudget::check(mailbox, config) {
        return if story::state_of(mailbox, workflow)? == Standing::Delivered { Ok(RunNow::Delivered) } else { Err(spent) };
    }
    let found = match claim_or_go_on(mailbox, config, workflow)? {
        // The process that had claimed the answer is dead or did not need it: the answer is back.
        RunNow::Refused(Refusal::NothingAnswered) if story::state_of(mailbox, workflow)? == Standing::Answered => {
            claim_or_go_on(mailbox, config, workflow)?
        }
        found => found,
    };
    let refusal = match found {
        RunNow::Refused(why @ (Refusal::NothingAnswered | Refusal::EarlierRound(_))) => why,
        other => return Ok(other),
    };
    let now = Teller::of_states(mailbox).at_a_glance(workflow);
    match now.state {
        Standing::Interrupted => {}
        // The operator has raised the limit.
        Standing::Parked if now.failure.is_some_and(Class::is_limit) => {}
        _ => return Ok(RunNow::Refused(refusal)),
    }
    programs::check(config, workflow)?;
    Ok(RunNow::Supervise((&recovery::retry(mailbox, config, workflow, None)?).into()))
}

/// Claims the answer, or goes on with a claimed round that no process supervises.
fn claim_or_go_on(mailbox: &Mailbox, config: &Config, workflow: &WorkflowId) -> Result<RunNow> {
    let refusal = match claim::take_to_launch(mailbox, config, workflow)? {
        ClaimAttempt::Claimed(claim) => return Ok(RunNow::Supervise(Attempt::Taken(claim))),
        ClaimAttempt::Refused(why @ (Refusal::NothingAnswered | Refusal::EarlierRound(_))) => why,
        ClaimAttempt::Refused(why) => return Ok(RunNow::Refused(why)),
    };
    match recovery::recover_now(mailbox, config, workflow)? {
        Some(Recovered::Launch(run) | Recovered::Claimed(run)) => {
            // The attempt is on record. It stays in `running/`, where a watcher finds it.
            programs::check(config, workflow)?;
            Ok(RunNow::Supervise((&*run).into()))
        }
        Some(Recovered::Over) if story::state_of(mailbox, workflow)? == Standing::Delivered => Ok(RunNow::Delivered),
        _ => Ok(RunNow::Refused(refusal)),
    }
}

/// [`run_now`] for `relaunch exec`, whose runner is the only one in `config`. It also goes on with a round that is parked: the person has
/// named the program for it.
///
/// # Errors
/// Those of [`run_now`].
pub fn exec_now(mailbox: &Mailbox, config: &Config, workflow: &WorkflowId) -> Result<RunNow> {
    match run_now(mailbox, config, workflow)? {
        RunNow::Refused(refusal) => match story::state_of(mailbox, workflow)? {
            Standing::Parked => Ok(RunNow::Supervise((&recovery::retry(mailbox, config, workflow, None)?).into())),
            _ => Ok(RunNow::Refused(refusal)),
        },
        other => Ok(other),
    }
}

/// How often a stop is tried while the workflow begins one attempt after the other.
const STOPS: usize = 5;

/// Stops the run of a workflow and waits until it is over. A claimed round that no process supervises is stopped at once. A supervisor
/// that a signal has stopped is continued, and `continued` is called. Returns the run as it ended.
///
/// # Errors
/// [`Error::NotFound`] if there is nothing to stop, [`Error::Waiting`] if the run does not end in time.
pub fn stop(
    mailbox: &Mailbox,
    workflow: &WorkflowId,
    request: &Stop,
    config: impl Fn() -> Result<Config>,
    continued: impl Fn(&LockHolder),
) -> Result<Run> {
    for _ in 0..STOPS {
        let run = match stop::send(mailbox, workflow, request) {
            Ok(run) => run,
            Err(not_live @ Error::NotFound { .. }) => {
                let config = config()?;
                let why = request.request(config.limits.grace.0).why;
                match recovery::stop_waiting(mailbox, &config, workflow, &why)? {
                    Some(run) => return Ok(run),
                    // It was being claimed.
                    None if stop::live_run(mailbox, workflow).is_ok() => continue,
                    None => return Err(not_live),
                }
            }
            Err(e) => return Err(e),
        };
        // Even if the configuration is broken now, the person must be able to stop a run.
        let grace = config().unwrap_or_default().limits.grace.0;
        stop::wait_for_end(mailbox, &run, stop::wait_limit(request, grace), &continued)?;
        let ended = record::read(mailbox, &run.round(), run.attempt)?;
        if !matches!(ended.state, RunState::Failed | RunState::Claimed | RunState::Running) {
            return Ok(ended);
        }
        // The attempt had just failed, or recovery was putting the next one on record. That one knows nothing of the request.
    }
    Err(Error::Waiting {
        message: format!("{workflow} goes on with a new attempt each time"),
        hint: format!("again: relaunch stop --now {workflow}").into(),
    })
}
