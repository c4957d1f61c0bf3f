//! `relaunch ID`, `relaunch run` and `relaunch retry`: one run that this process supervises and whose events it prints.

use std::path::Path;

use serde_json::json;

use crate::relaunch::starting_session::StartingSession;
use crate::relaunch::{foreground, refusals};
use askbox_cli::{Context, program};
use askbox_config::Config;
use askbox_mailbox::{Error, Folder, Mailbox, Result, RoundId, WorkflowId, awaits, lineage, list, pause, presence};
use askbox_run::claim::Refusal;
use askbox_run::money::day::DayBudget;
use askbox_run::on_demand::{self, RunNow};
use askbox_run::supervise::ownership::Attempt;
use askbox_run::task::{self, Task};
use askbox_run::{OwnState, Run, outcome, programs, recovery, run_processes};

/// `relaunch ID`: claims the answer and runs it, or continues a run that was stopped.
pub fn run_now(mailbox: &Mailbox, context: &Context, workflow: &WorkflowId, json: bool) -> Result<u8> {
    pause::check(mailbox)?;
    let config = context.config()?;
    match on_demand::run_now(mailbox, &config, workflow)? {
        RunNow::Supervise(attempt) => in_foreground(mailbox, config, workflow, attempt, json),
        RunNow::Delivered => Ok(0),
        RunNow::Refused(Refusal::NothingAnswered) if let Some(run) = foreground::last_turn_of_waiting(mailbox, workflow)? => {
            let session = StartingSession::of_start(mailbox, workflow);
            let status = foreground::follow_to_the_end(mailbox, &config, &run, foreground::catch_signals()?, json);
            session.was_told_so_far();
            status
        }
        RunNow::Refused(refused) => Err(refusals::error_of(mailbox, context, workflow, refused)),
    }
}

/// Runs an attempt in this process. If the workflow has not ended then, its end wakes the session whose shell this is.
fn in_foreground(mailbox: &Mailbox, config: Config, workflow: &WorkflowId, attempt: Attempt, json: bool) -> Result<u8> {
    let session = StartingSession::of_start(mailbox, workflow);
    let status = foreground::run(mailbox, config, attempt, json);
    session.was_told_so_far();
    status
}

/// `relaunch retry ID`, with `cwd` in that folder.
pub fn retry(mailbox: &Mailbox, context: &Context, workflow: &WorkflowId, cwd: Option<&Path>, json: bool) -> Result<u8> {
    pause::check(mailbox)?;
    if recovery::take_from_quarantine(mailbox, workflow)? {
        return run_now(mailbox, context, workflow, json);
    }
    let config = context.config()?;
    DayBudget::check(mailbox, &config)?;
    if recovery::is_parked(mailbox, workflow) {
        programs::check(&config, workflow)?;
    }
    let run = recovery::retry(mailbox, &config, workflow, cwd)?;
    if let Some(parent) = parent_without_it(mailbox, workflow) {
        program::warn(&format!(
            "{parent} ended its work without {workflow} and is not told how {workflow} ends; its reply: relaunch resume {workflow}"
        ));
    }
    in_foreground(mailbox, config, &run.workflow_id, (&run).into(), json)
}

/// The parent of a workflow, if it has ended and does not wait for the workflow any more.
fn parent_without_it(mailbox: &Mailbox, workflow: &WorkflowId) -> Option<WorkflowId> {
    let parent = lineage::kin(mailbox, workflow).parent?;
    let is_told = awaits::read(mailbox, &parent, workflow).map_or(true, |wait| wait.is_some());
    let has_ended = || matches!(outcome::own_state_without_lock(mailbox, &parent), Ok(OwnState::Ended(ended)) if !ended.end.may_change());
    (!is_told && has_ended()).then_some(parent)
}

/// `relaunch retry --all`: retries every parked round, except those that a person stopped. If a watcher runs, it launches them as its limits
/// allow. Otherwise each one runs in this process, one after the other. Returns 1 if one of them did not go on or did not end well.
pub fn retry_all(mailbox: &Mailbox, context: &Context, json: bool) -> Result<u8> {
    pause::check(mailbox)?;
    let mut rounds: Vec<_> = list::round_names(mailbox, Folder::Parked).collect();
    rounds.sort();
    // The oldest round of a workflow is the one that a retry takes.
    rounds.dedup_by(|later, first| later.workflow == first.workflow);
    let (stopped, parked): (Vec<_>, Vec<_>) = rounds.into_iter().partition(|round| recovery::was_stopped(mailbox, round));
    say_left_out(&stopped);
    if parked.is_empty() {
        let said = if json || !stopped.is_empty() { "" } else { "nothing is parked\n" };
        return program::print(said).map(|()| 0);
    }
    let parked = parked.into_iter().map(|round| round.workflow);
    let has_watcher = presence::anybody(mailbox)?;
    let mut status = 0;
    for workflow in parked {
        let retried = match has_watcher {
            true => context
                .loaded()
                .and_then(|loaded| recovery::retry(mailbox, &loaded.config, &workflow, None))
                .and_then(|run| said(&run, json)),
            false => retry(mailbox, context, &workflow, None, json),
        };
        status = status.max(retried.unwrap_or_else(|e| {
            program::complain(&e);
            1
        }));
    }
    Ok(status)
}

/// Says how to start the runs that a person has stopped. They are left out, because the stop was meant.
fn say_left_out(stopped: &[RoundId]) {
    if stopped.is_empty() {
        return;
    }
    let runs = if stopped.len() == 1 { "1 run that was stopped is" } else { &format!("{} runs that were stopped are", stopped.len()) };
    program::say(&format!("note: {runs} left out; to start each:\n"));
    stopped.iter().for_each(|round| program::say(&format!("  relaunch retry {}\n", round.workflow)));
}

fn said(run: &Run, json: bool) -> Result<u8> {
    let (workflow, attempt) = (&run.workflow_id, run.attempt);
    let value = json!({"workflow_id": workflow, "question_id": run.question_id, "attempt": attempt});
    program::print_result(json, &value, &format!("{workflow}: the watcher launches attempt {attempt}\n")).map(|()| 0)
}

/// `relaunch run FILE`, `relaunch run --prompt TEXT`.
pub fn run_prompt(
    mailbox: &Mailbox,
    context: &Context,
    file: Option<&Path>,
    prompt: Option<String>,
    workflow: Option<WorkflowId>,
    json: bool,
) -> Result<u8> {
    run_processes::check_visible()?;
    pause::check(mailbox)?;
    let config = context.config()?;
    DayBudget::check(mailbox, &config)?;
    let prompt = match (file, prompt) {
        (None, Some(prompt)) => prompt,
        (Some(file), None) => read_prompt(file)?,
        _ => return Err(Error::usage("the agent has no prompt", "relaunch run FILE.md, or relaunch run --prompt TEXT")),
    };
    let task = Task {
        cwd: Some(program::working_folder()?),
        parent: program::workflow_from_env("ASKBOX_WORKFLOW_ID")?,
        ..Task::new(workflow.unwrap_or_else(WorkflowId::generate), prompt)
    };
    let run = task::begin(mailbox, &config, task)?;
    in_foreground(mailbox, config, &run.workflow_id, (&run).into(), json)
}

fn read_prompt(file: &Path) -> Result<String> {
    let bytes = program::read_input(file, task::MAX_PROMPT as u64)?;
    String::from_utf8(bytes).map_err(|e| {
        let problem = format!("is not valid UTF-8 (byte {})", e.utf8_error().valid_up_to());
        Error::invalid("prompt", problem, "save it as UTF-8").in_file(file)
    })
}
