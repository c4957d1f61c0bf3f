//! `relaunch spawn` and `relaunch resume`: an agent calls them in its Bash tool to start another agent and to get its result.
//!
//! Standard output holds exactly one of these: the other agent's final text, a signal on a line of its own, or one line that says
//! how the other agent ended without a result.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::relaunch::starting_session::StartingSession;
use crate::tree_driver::TreeDriver;
use askbox_agent::chain_signals::{Signal, quoted};
use askbox_cli::args::relaunch_args::Spawn;
use askbox_cli::{Context, program};
use askbox_mailbox::documents::awaited::End;
use askbox_mailbox::{Ended, Error, Join, Mailbox, Result, WorkflowId, caller, document, pause, text};
use askbox_run::chain::archived_end;
use askbox_run::chain::in_turn::{self, InTurn};
use askbox_run::chain::progress::{self, Progress};
use askbox_run::chain::spawn::{self, Caller, Instructions, SpawnRequest};
use askbox_run::process::launch::BASH_TIMEOUT;
use askbox_run::task::MAX_PROMPT;
use askbox_run::words::inserted;
use askbox_run::{log, run_processes};

/// The longest default wait. Claude Code's Bash tool allows a command ten minutes at most.
const MAX_WAIT: Duration = Duration::from_secs(9 * 60);
/// The default timeout of Claude Code's Bash tool.
const DEFAULT_BASH_TIMEOUT: Duration = Duration::from_secs(120);

/// The variables that codex sets in the shells of its sandbox.
const CODEX_SANDBOX: [&str; 2] = ["CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED"];

/// `relaunch spawn`. The child gets the id of the arguments, or a new one.
pub fn spawn(mailbox: &Mailbox, context: &Context, args: Spawn, json: bool) -> Result<u8> {
    run_processes::check_visible()?;
    let config = context.config()?;
    let deadline = Instant::now() + wait_limit(args.timeout, MAX_WAIT);
    let request = SpawnRequest {
        caller: caller(mailbox)?,
        instructions: instructions(args.file, args.prompt)?,
        agent: args.agent,
        model: args.model,
        fork: args.fork,
        join: if args.any { Join::Any } else { Join::All },
        workflow: args.workflow,
        folder: Some(program::working_folder()?),
    };
    log::warnings_to_stderr();
    let mut spawned = spawn::spawn(mailbox, &config, request)?;
    let session = StartingSession::of_start(mailbox, &spawned.child);
    if let Some(e) = spawned.start_failed.take() {
        program::complain(&e);
    }
    if spawned.is_started_here && CODEX_SANDBOX.iter().any(|name| program::env(name).is_some()) {
        let child = &spawned.child;
        program::warn(&format!("no watcher runs, so {child} works in this sandbox, with its network and its PATH: relaunch watch"));
    }
    if args.background {
        program::print_value(spawned.child.as_str())?;
        spawned.answered()?;
        return Ok(0);
    }
    if pause::held(mailbox).is_some() {
        // The child is launched once the queue goes on. The caller is woken when the child has ended.
        print_signal(&Signal::PendStarted(spawned.child.clone()))?;
        spawned.answered()?;
        return Ok(0);
    }
    let _driven = TreeDriver::start(mailbox, &config, &spawned.child).inspect_err(program::complain).ok();
    match spawned.wait(deadline)? {
        Progress::Ended(ended) => {
            spawned.tell(&ended, || print(&ended, json))?;
            session.was_told();
            Ok(exit_status(&ended))
        }
        Progress::Asking | Progress::StillWorking => {
            print_signal(&Signal::PendStarted(spawned.child.clone()))?;
            // If this process is killed before the next line, a repeated call finds the same child and prints the same again.
            spawned.answered()?;
            Ok(0)
        }
    }
}

/// `relaunch resume ID`.
pub fn resume(mailbox: &Mailbox, context: &Context, workflow: &WorkflowId, timeout: Option<Duration>, json: bool) -> Result<u8> {
    run_processes::check_visible()?;
    let config = context.config()?;
    let deadline = Instant::now() + wait_limit(timeout, MAX_WAIT);
    log::warnings_to_stderr();
    let session = StartingSession::of_look(mailbox, workflow);
    let resumed = match progress::resume(mailbox, workflow, deadline, || TreeDriver::start(mailbox, &config, workflow)) {
        Err(e @ Error::NotFound { .. }) => return told_archived(mailbox, workflow, json, || e),
        other => other?,
    };
    match resumed {
        Progress::Ended(ended) => {
            tell_end(mailbox, workflow, &ended, json)?;
            session.was_told();
            Ok(exit_status(&ended))
        }
        Progress::Asking => print_signal(&Signal::PendStarted(workflow.clone())).map(|()| 0),
        Progress::StillWorking => print_signal(&Signal::PendOngoing).map(|()| 0),
    }
}

/// Prints how a workflow ended. A parent that gets the result here does not have to be woken for it.
pub(super) fn tell_end(mailbox: &Mailbox, workflow: &WorkflowId, ended: &Ended, json: bool) -> Result<()> {
    let wait = proven_caller(mailbox)?.map(|caller| InTurn::of_child(mailbox, &caller.workflow, workflow)).transpose()?.flatten();
    in_turn::tell(wait, ended, || print(ended, json))
}

/// Prints how a workflow ended whose rounds are all archived, or returns this error if none is.
pub(super) fn told_archived(mailbox: &Mailbox, workflow: &WorkflowId, json: bool, unknown: impl FnOnce() -> Error) -> Result<u8> {
    let Some(found) = archived_end::of(mailbox, workflow)? else { return Err(unknown()) };
    program::say(&format!("note: {workflow} is archived in {}\n", found.archive.display()));
    print(&found.ended, json)?;
    Ok(exit_status(&found.ended))
}

/// The run of askbox that called this program, if any. Only the workflow of that run can be woken.
///
/// # Errors
/// [`Error::Failed`] if the environment names a run but does not prove it. The caller does not expect a child without a parent.
fn caller(mailbox: &Mailbox) -> Result<Option<Caller>> {
    let said = said_caller()?;
    let proven = proven_caller(mailbox)?;
    match said {
        Some(Caller { run, .. }) if proven.is_none() => Err(Error::failed(
            format!("$ASKBOX_RUN says that this runs within {}, and $ASKBOX_NONCE does not prove it", text::excerpt(&run, 200)),
            "start it in the agent's own shell; outside of a run: unset ASKBOX_RUN ASKBOX_WORKFLOW_ID",
        )),
        _ => Ok(proven),
    }
}

/// The run that the environment names, if the environment proves it.
pub(super) fn proven_caller(mailbox: &Mailbox) -> Result<Option<Caller>> {
    let (Some(caller), Some(run)) = (said_caller()?, program::this_run()) else { return Ok(None) };
    Ok(caller::session(mailbox, &run)?.map(|_| caller))
}

fn said_caller() -> Result<Option<Caller>> {
    let Some(workflow) = program::workflow_from_env("ASKBOX_WORKFLOW_ID")? else { return Ok(None) };
    let run = program::env("ASKBOX_RUN").filter(|run| run.starts_with(&format!("{workflow}/")));
    Ok(run.map(|run| Caller { workflow, run }))
}

fn instructions(file: Option<PathBuf>, prompt: Option<String>) -> Result<Instructions> {
    match (file, prompt) {
        (None, Some(prompt)) => Ok(Instructions::Prompt(prompt)),
        (Some(file), None) if file == Path::new("-") => program::read_stdin_text(MAX_PROMPT as u64).map(Instructions::Prompt),
        (Some(file), None) => Ok(Instructions::File(file)),
        _ => Err(Error::usage("the child has no instructions", "relaunch spawn FILE.md, or relaunch spawn --prompt TEXT")),
    }
}

/// How long to wait: `--timeout`, else nine tenths of the time that the Bash tool around this call gives it, else `otherwise`.
pub(super) fn wait_limit(given: Option<Duration>, otherwise: Duration) -> Duration {
    let configured = program::env(BASH_TIMEOUT).and_then(|ms| ms.parse().ok()).map(Duration::from_millis);
    let bash = configured.or_else(|| program::env("CLAUDECODE").map(|_| DEFAULT_BASH_TIMEOUT));
    given.unwrap_or_else(|| bash.map_or(otherwise, |limit| (limit / 10 * 9).min(MAX_WAIT)))
}

fn print_signal(signal: &Signal) -> Result<()> {
    program::print(&format!("{signal}\n"))
}

/// Prints how a workflow ended. A closed pipe is an error here, because the reader was not told.
pub(super) fn print(ended: &Ended, json: bool) -> Result<()> {
    let written = if json {
        program::write_json(&String::from_utf8_lossy(&document::to_json(ended)?))
    } else if ended.end == End::Delivered {
        program::write_exactly(&format!("{}\n", quoted(&ended.text)))
    } else if ended.cut {
        let had = if ended.text.trim().is_empty() { " nothing".into() } else { format!("\n{}", inserted::quoted(&ended.text)) };
        let (end, id) = (ended.end.word(), &ended.workflow_id);
        program::write_exactly(&format!("{end} ({id}): cut off at its limit of turns, not finished. What it had written:{had}\n"))
    } else {
        program::write(&format!("{} ({}): {}\n", ended.end.word(), ended.workflow_id, text::one_line(&ended.text)))
    };
    written.map_err(|e| {
        Error::failed(format!("cannot write to standard output: {e}"), format!("print it again: relaunch resume {}", ended.workflow_id))
    })
}

pub(super) fn exit_status(ended: &Ended) -> u8 {
    u8::from(ended.end != End::Delivered)
}
