//! Commands that bring an answer to an agent: in the foreground, as a supervisor, or as a prompt for somebody else's.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::agent::events::EventKind;
use crate::config::{self, Config};
use crate::disk::{self, Lock};
use crate::error::{Error, Result};
use crate::id::{QuestionId, RoundId, WorkflowId};
use crate::mailbox::Mailbox;
use crate::run::claim::record::{self, Claimant, Run, State};
use crate::run::claim::recovery::{self, Recovered};
use crate::run::claim::task::{self, Task};
use crate::run::claim::{self, ClaimAttempt, Refusal};
use crate::run::process::{detach, processes, prompt};
use crate::run::supervise::failure::Class;
use crate::run::supervise::stop::{self, Stop};
use crate::run::supervise::supervisor::{self, Attempt};
use crate::run::view::status::{self, Standing};
use crate::run::view::tail::Lines;
use crate::surface::program;
use crate::surface::relaunch::foreground::{StopSignals, foreground};
use crate::time::{self, Span};

/// `relaunch ID`: claims the answer and supervises the run here, or goes on with a run that was stopped. Ctrl-C stops it and
/// keeps what it has.
pub fn run_now(mailbox: &Mailbox, workflow: &WorkflowId, json: bool) -> Result<u8> {
    let config = config::load()?.config;
    match claim::take_to_launch(mailbox, &config, workflow)? {
        ClaimAttempt::Claimed(claim) => foreground(mailbox, config, Attempt::Taken(claim), json),
        ClaimAttempt::Refused(why @ (Refusal::NothingAnswered | Refusal::EarlierRound(_))) => take_up(mailbox, config, workflow, why, json),
        ClaimAttempt::Refused(why) => refused(mailbox, workflow, why),
    }
}

/// Claimed before, and nobody runs it: its supervisor died, its back-off is not over, it was stopped, or a
/// limit was reached. By hand that is now.
fn take_up(mailbox: &Mailbox, config: Config, workflow: &WorkflowId, why: Refusal, json: bool) -> Result<u8> {
    match recovery::take_up(mailbox, &config, workflow)? {
        Some(Recovered::Launch(run) | Recovered::Claimed(run)) => return foreground(mailbox, config, (&*run).into(), json),
        Some(Recovered::Over) if status::of(mailbox, workflow)?.state == Standing::Delivered => return Ok(0),
        _ => {}
    }
    let now = status::of(mailbox, workflow)?;
    match now.state {
        Standing::Interrupted => retry(mailbox, workflow, json),
        // Whoever raised the limit goes on where it was.
        Standing::Parked if now.failure.is_some_and(Class::is_limit) => retry(mailbox, workflow, json),
        _ => refused(mailbox, workflow, why),
    }
}

/// `relaunch retry ID`.
pub fn retry(mailbox: &Mailbox, workflow: &WorkflowId, json: bool) -> Result<u8> {
    let run = recovery::retry(mailbox, workflow)?;
    foreground(mailbox, config::load()?.config, (&run).into(), json)
}

/// `relaunch run FILE`.
pub fn run_task(mailbox: &Mailbox, file: &Path, workflow: Option<WorkflowId>, json: bool) -> Result<u8> {
    let config = config::load()?.config;
    let bytes = program::read_input(file, task::MAX_PROMPT as u64)?;
    let prompt = String::from_utf8(bytes).map_err(|e| {
        Error::invalid("prompt", format!("is no UTF-8 (byte {})", e.utf8_error().valid_up_to()), "save it as UTF-8").in_file(file)
    })?;
    let task = Task {
        cwd: std::env::current_dir().ok(),
        parent: program::workflow_from_env("ASKBOX_WORKFLOW_ID")?,
        ..Task::new(workflow.unwrap_or_else(WorkflowId::generate), prompt)
    };
    let run = task::begin(mailbox, &config, task)?;
    foreground(mailbox, config, (&run).into(), json)
}

/// `relaunch stop ID`: asks, waits until the run is over, and returns what it had: the run's last event, as JSON or in words.
pub fn stop(mailbox: &Mailbox, workflow: &WorkflowId, grace: Option<&str>, report: bool, now: bool, json: bool) -> Result<u8> {
    let grace = grace.map(|g| time::parse_duration(g, "grace")).transpose().map_err(|e| program::of_flag("--grace", e))?;
    let request = Stop { at: time::now(), by: program::user(), grace: grace.map(Span), report, now };
    let run = match stop::ask(mailbox, workflow, &request) {
        Ok(run) => {
            Lock::wait_until_free(&record::lock_path(mailbox, &run.round()))?;
            record::read(mailbox, &run.round(), run.attempt)?
        }
        // Not live, but it would be again.
        Err(e @ Error::NotFound { .. }) => {
            let config = config::load()?.config;
            let why = request.request(config.limits.grace.0).why;
            recovery::stop_waiting(mailbox, &config, workflow, &why)?.ok_or(e)?
        }
        Err(e) => return Err(e),
    };
    if json {
        return last_event(mailbox, &run);
    }
    let how = match run.state {
        State::Interrupted => format!("stopped {workflow}; go on with: relaunch {workflow}"),
        State::Delivered => format!("{workflow} had ended by itself"),
        _ => format!("{workflow} ended: {}", run.why.clone().unwrap_or_default()),
    };
    program::print_words(&format!("{how}\n"))?;
    let mut lines = Lines::of(run.folder(mailbox).join("events.jsonl"));
    while let Some((_, event)) = lines.next_event()? {
        if let EventKind::Interrupted { text, report, .. } = event.kind {
            program::print_words(&format!("{}\n", report.unwrap_or(text)))?;
        }
    }
    Ok(0)
}

/// `interrupted`, or the result of a run that was quicker.
fn last_event(mailbox: &Mailbox, run: &Run) -> Result<u8> {
    let mut lines = Lines::of(run.folder(mailbox).join("events.jsonl"));
    let mut last = None;
    while let Some((line, event)) = lines.next_event()? {
        if matches!(event.kind, EventKind::Interrupted { .. } | EventKind::Result { .. } | EventKind::Parked { .. }) {
            last = Some(line);
        }
    }
    let line = last.unwrap_or_else(|| r#"{"type":"interrupted","text":"","tool_calls":[],"files_touched":[]}"#.into());
    program::print(&format!("{}\n", crate::text::escape_json(&line)))?;
    Ok(0)
}

/// How long a supervisor that was detached has no ear for SIGTERM: until then it may be taken for a part of the tree that it was
/// started in. Whoever ends that tree does not mean it; whoever stops its run says so in a file.
const DEAF: Duration = Duration::from_secs(2);

/// The hidden `relaunch supervise`: a session of its own, so that no terminal takes it along. `from`: who detached it.
pub fn supervise(mailbox: &Mailbox, workflow: WorkflowId, question: QuestionId, attempt: u32, from: Option<u32>) -> Result<u8> {
    let round = RoundId { workflow, question };
    let log = detach::log(mailbox, &round, attempt);
    detach::log_panics(log.clone());
    supervise_here(mailbox, Attempt::Recorded { round, attempt }, from).inspect_err(|e| {
        let _ = disk::append(&log, format!("{} error: {e}\n", time::rfc3339(time::now())).as_bytes());
    })
}

fn supervise_here(mailbox: &Mailbox, attempt: Attempt, from: Option<u32>) -> Result<u8> {
    // Fails only for a group leader, which nobody's child is but a shell's: then its group is its own already.
    let _ = rustix::process::setsid();
    let deaf_until = from.map(leave);
    let config = config::load()?.config;
    let grace = config.limits.grace.0;
    processes::adopt_orphans();
    let stop_by = |stopper| StopSignals::catch(stopper, grace, deaf_until).into_iter().collect();
    supervisor::supervise(mailbox, &config, attempt, &mut |_| {}, stop_by)?;
    Ok(0)
}

/// Waits until we are nobody's child; SIGTERM does nothing meanwhile, and until the time that is returned.
fn leave(parent: u32) -> Instant {
    let _ = signal_hook::flag::register(signal_hook::consts::SIGTERM, Arc::default());
    let is_child = || rustix::process::getppid().is_some_and(|p| u32::try_from(p.as_raw_nonzero().get()) == Ok(parent));
    let enough = Instant::now() + DEAF;
    while is_child() && Instant::now() < enough {
        std::thread::sleep(Duration::from_millis(1));
    }
    Instant::now() + DEAF
}

/// `relaunch supervise --detach`: starts it, and ends, which makes it an orphan.
pub fn detach(mailbox: &Mailbox, workflow: WorkflowId, question: QuestionId, attempt: u32) -> Result<u8> {
    let _ = rustix::process::setsid();
    let run = record::read(mailbox, &RoundId { workflow, question }, attempt)?;
    let mut command = detach::command(mailbox, &run)?;
    command.arg("--from").arg(std::process::id().to_string());
    command.spawn().map(|_| 0).map_err(|e| detach::failed(&e))
}

#[derive(Serialize)]
struct Prompt<'a> {
    workflow_id: &'a WorkflowId,
    question_id: QuestionId,
    prompt: &'a str,
}

/// `relaunch prompt ID`: the main agent takes the answer over.
pub fn print_prompt(mailbox: &Mailbox, workflow: &WorkflowId, json: bool) -> Result<u8> {
    let config = config::load()?.config;
    let claim = match claim::claim(mailbox, &config, workflow, Claimant::Prompt)? {
        ClaimAttempt::Claimed(claim) => claim,
        ClaimAttempt::Refused(why) => return refused(mailbox, workflow, why),
    };
    let text = prompt::message(mailbox, &config, &claim.document.typed, &claim.run)?;
    if json {
        program::print_json(&Prompt { workflow_id: workflow, question_id: claim.run.question_id, prompt: &text })?;
    } else {
        program::print_value(text.trim_end())?;
    }
    claim.delivered(mailbox, "relaunch prompt")?;
    Ok(0)
}

fn refused(mailbox: &Mailbox, workflow: &WorkflowId, why: Refusal) -> Result<u8> {
    let now = status::of(mailbox, workflow)?;
    Err(match why {
        Refusal::NothingAnswered if matches!(now.state, Standing::Pending | Standing::Overdue) => {
            Error::Waiting { message: format!("{workflow} still waits for its answer"), hint: format!("answer it: ask-answer {workflow}") }
        }
        Refusal::NothingAnswered if now.state == Standing::Parked || now.state == Standing::Interrupted => {
            Error::conflict(format!("{workflow} is {}", now.state.word()), format!("bring it back: relaunch retry {workflow}"))
        }
        Refusal::NothingAnswered => Error::conflict(
            format!("nothing of {workflow} is to be run: it is {}", now.state.word()),
            format!("see: relaunch status {workflow}"),
        ),
        Refusal::MayBeUnfinished(_) => {
            Error::Waiting { message: format!("the answer of {workflow} is being written"), hint: "try again in a few seconds".into() }
        }
        Refusal::EarlierRound(round) => Error::conflict(
            format!("an earlier answer of {workflow} is being delivered ({})", round.question),
            format!("read along: relaunch logs -f {workflow}"),
        ),
        Refusal::AskerRuns(round) => Error::conflict(
            format!("the session that asked for {workflow} is still at work for {}", round.workflow),
            format!("wait for its end: relaunch logs -f {}", round.workflow),
        ),
        Refusal::AwaitedInline(_) => {
            Error::conflict(format!("the asker of {workflow} waits for the answer itself (ask-post --wait)"), "let it have it")
        }
    })
}
