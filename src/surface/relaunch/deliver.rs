//! Commands that bring an answer to an agent: in the foreground, as a supervisor, or as a prompt for somebody else's.

use serde::Serialize;

use crate::config;
use crate::error::{Error, Result};
use crate::id::{QuestionId, RoundId, WorkflowId};
use crate::mailbox::Mailbox;
use crate::run::claim::{self, Refused};
use crate::run::events::Event;
use crate::run::record::{self, Claimant, Run, State};
use crate::run::recovery::Recovered;
use crate::run::supervisor::{self, Stopper};
use crate::run::{prompt, recovery, status};
use crate::surface::program;

use super::follow;

/// `relaunch ID`: claims the answer and supervises the run here; Ctrl-C stops it and keeps what it has.
pub fn run_now(mailbox: &Mailbox, workflow: &WorkflowId, json: bool) -> Result<u8> {
    let config = config::load()?.config;
    let claim = match claim::claim(mailbox, &config, workflow, Claimant::Supervisor)? {
        Ok(claim) => claim,
        Err(refused @ (Refused::Nothing | Refused::Busy(_))) => return take_up(mailbox, workflow, refused, json),
        Err(refused) => return refusal(mailbox, workflow, refused),
    };
    foreground(mailbox, claim.into_run(), json)
}

/// Claimed before, and nobody runs it: its supervisor died, or its back-off is not over. By hand that is now.
fn take_up(mailbox: &Mailbox, workflow: &WorkflowId, refused: Refused, json: bool) -> Result<u8> {
    let config = config::load()?.config;
    match recovery::take_up(mailbox, &config, workflow)? {
        Some(Recovered::Launch(run)) => foreground(mailbox, *run, json),
        Some(Recovered::Over) if status::of(mailbox, workflow)?.state == status::Standing::Delivered => Ok(0),
        _ => refusal(mailbox, workflow, refused),
    }
}

/// `relaunch retry ID`.
pub fn retry(mailbox: &Mailbox, workflow: &WorkflowId, json: bool) -> Result<u8> {
    let run = recovery::retry(mailbox, workflow)?;
    foreground(mailbox, run, json)
}

fn foreground(mailbox: &Mailbox, run: Run, json: bool) -> Result<u8> {
    let config = config::load()?.config;
    let mut show = |event: &Event| {
        let line = if json { follow::json_line(event) } else { follow::words(event) };
        // Nobody reads along any more: the run goes on.
        let _ = program::print(&line);
    };
    let run = supervisor::supervise(mailbox, &config, run, &mut show, on_signal)?;
    match run.state {
        State::Delivered => Ok(0),
        State::Failed => Err(Error::failed(
            format!("{} failed: {}", run.workflow_id, run.why.unwrap_or_default()),
            format!(
                "a watcher tries again after {}; see: relaunch logs {}",
                run.retry_at.map(crate::time::rfc3339).unwrap_or_default(),
                run.workflow_id
            ),
        )),
        State::Interrupted => Err(Error::failed(
            format!("{} was stopped", run.workflow_id),
            format!("go on where it was: relaunch retry {}", run.workflow_id),
        )),
        State::Parked => Err(Error::failed(
            format!("{} is parked: {}", run.workflow_id, run.why.unwrap_or_default()),
            format!("mend that, then: relaunch retry {}", run.workflow_id),
        )),
        State::Claimed | State::Running => Err(Error::conflict(
            format!("somebody else runs {} by now", run.workflow_id),
            format!("read along: relaunch logs -f {}", run.workflow_id),
        )),
    }
}

/// SIGTERM, SIGINT and SIGHUP climb the ladder instead of killing us: the agent's session is kept.
fn on_signal(stopper: Stopper) {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    if let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGTERM, SIGINT, SIGHUP]) {
        std::thread::spawn(move || {
            for signal in signals.forever() {
                stopper.stop(&format!("the supervisor got {}", signal_hook::low_level::signal_name(signal).unwrap_or("a signal")));
            }
        });
    }
}

/// The hidden `relaunch supervise`: a session of its own, so that no terminal takes it along.
pub fn supervise(mailbox: &Mailbox, workflow: WorkflowId, question: QuestionId, attempt: u32) -> Result<u8> {
    // Fails only for a group leader, which nobody's child is but a shell's: then its group is its own already.
    let _ = rustix::process::setsid();
    let config = config::load()?.config;
    let run = record::read(mailbox, &RoundId { workflow, question }, attempt)?;
    supervisor::supervise(mailbox, &config, run, &mut |_| {}, on_signal)?;
    Ok(0)
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
        Ok(claim) => claim,
        Err(refused) => return refusal(mailbox, workflow, refused),
    };
    let text = prompt::message(mailbox, &config, &claim.document.typed, &claim.run)?;
    if json {
        program::print_json(&Prompt { workflow_id: workflow, question_id: claim.round.question, prompt: &text })?;
    } else {
        program::print_value(text.trim_end())?;
    }
    claim.delivered(mailbox, "relaunch prompt")?;
    Ok(0)
}

fn refusal(mailbox: &Mailbox, workflow: &WorkflowId, refused: Refused) -> Result<u8> {
    let now = status::of(mailbox, workflow)?;
    Err(match refused {
        Refused::Nothing if matches!(now.state, status::Standing::Pending | status::Standing::Overdue) => {
            Error::Waiting { message: format!("{workflow} still waits for its answer"), hint: format!("answer it: ask-answer {workflow}") }
        }
        Refused::Nothing if now.state == status::Standing::Parked || now.state == status::Standing::Interrupted => {
            Error::conflict(format!("{workflow} is {}", now.state.word()), format!("bring it back: relaunch retry {workflow}"))
        }
        Refused::Nothing => Error::conflict(
            format!("nothing of {workflow} is to be run: it is {}", now.state.word()),
            format!("see: relaunch status {workflow}"),
        ),
        Refused::Unsettled(_) => {
            Error::Waiting { message: format!("the answer of {workflow} is being written"), hint: "try again in a few seconds".into() }
        }
        Refused::Busy(round) => Error::conflict(
            format!("an earlier answer of {workflow} is being delivered ({})", round.question),
            format!("read along: relaunch logs -f {workflow}"),
        ),
        Refused::AwaitedInline(_) => {
            Error::conflict(format!("the asker of {workflow} waits for the answer itself (ask-post --wait)"), "let it have it")
        }
    })
}
