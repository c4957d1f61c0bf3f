//! From a claimed attempt to an agent that has received its first message.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::Child;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;

use crate::agent::claude::{self, Invocation};
use crate::config::{Config, Runner};
use crate::disk::Staged;
use crate::error::{Error, IoContext, Result};
use crate::mailbox::documents::fields::asked_in::Nonce;
use crate::mailbox::{Folder, Mailbox, QuestionDocument, read_question};
use crate::platform::ProcessHandle;
use crate::run::attempt::record::{Begin, Record, State};
use crate::run::attempt::suspended_call::{self, Told};
use crate::run::claim::permitted::{self, WorkFolder};
use crate::run::claim::plan;
use crate::run::money::budget::{self, Allowance};
use crate::run::process::poll_thread::PollSource;
use crate::run::process::session_start::{self, SessionStart};
use crate::run::process::{agent_call, launch, programs};
use crate::run::prompt::{message, templates};
use crate::run::supervise::event_log::EventLog;
use crate::run::supervise::ownership::OwnedAttempt;
use crate::run::supervise::role_check;
use crate::run::supervise::run_message::RunMessage;
use crate::run::supervise::started_agent::{Agent, Spawned, Threads, Watched};
use crate::run::supervise::stop::hooks::{self, Held};
use crate::thread::Waiting;
use crate::time;

/// An agent that has received its first message.
pub(crate) struct Started {
    pub(crate) agent: Agent,
    /// The message with the answer, if the agent was first asked whether it knows its role.
    pub(crate) held_message: Option<String>,
    /// After how many answers of the model the supervisor stops the run; `None` if the operator's own arguments set a limit.
    pub(crate) max_turns: Option<u32>,
}

/// A launch that is prepared; nothing has been started and no name on disk has changed.
struct Prepared {
    document: QuestionDocument,
    start: SessionStart,
    /// The first message, as the agent reads it; `None` if the session goes on with a call that waits in it.
    message: Option<String>,
    call: Invocation,
    folder: WorkFolder,
    max_turns: Option<u32>,
    /// `run.json` with the state `running`; `None` if the attempt has no `run.json` yet.
    record: Option<Staged>,
}

/// Launches the agent of an attempt and sends it its first message.
pub(crate) fn start(
    mailbox: &Mailbox,
    config: &Config,
    attempt: &mut OwnedAttempt,
    allowance: &Allowance,
    log: &mut EventLog<'_>,
    sources: Vec<Box<dyn PollSource>>,
    channel: SyncSender<RunMessage>,
) -> Result<Started> {
    let Prepared { document, start, message, call, folder, max_turns, record } = prepare(mailbox, config, attempt, allowance)?;
    // Before the launch: recovery must know that there may be a process. After a power cut there is none.
    record.map_or(Ok(()), Staged::replace_ahead)?;
    let mut spawned = spawn(mailbox, attempt, &call, &folder, start)?;
    // The disk works while the agent starts. The record is durable before the agent receives any input: a power cut before that
    // ends an agent that knew nothing.
    if let Err(e) = attempt.make_durable(mailbox, &document) {
        end(&mut spawned.child);
        return Err(e);
    }
    let run = &attempt.run;
    run.plan.begin_why.iter().for_each(|why| log.note(why.clone()));
    if let Begin::Fork { from, of: Some(of) } = &run.plan.begin {
        log.note(format!("in a fork of session {from} of {of}, within which this was asked"));
    }
    let mut agent = Agent::connect(mailbox, run, spawned, sources, channel, log);
    let held_message = match (message, &run.plan.role) {
        (Some(message), Some(_)) => {
            agent.say(&role_check::question());
            Some(message)
        }
        (Some(message), None) => {
            agent.say(&message);
            None
        }
        (None, _) => {
            log.note("the session goes on with the call that waits in it");
            None
        }
    };
    Ok(Started { agent, held_message, max_turns })
}

fn prepare(mailbox: &Mailbox, config: &Config, attempt: &mut OwnedAttempt, allowance: &Allowance) -> Result<Prepared> {
    let is_on_record = attempt.is_on_record();
    let run = &mut attempt.run;
    // The operator decides at each launch. What the record says of an earlier one is no permission.
    let (name, runner) = config.runner(None)?;
    run.plan.runner = name;
    let folder = permitted::of_launch(config, run)?;
    let document = match attempt.document.take() {
        Some(document) => document,
        None => read_question::of_round(&mailbox.round(Folder::Running, &run.round()), &run.round())?,
    };
    let start = session_start::of(run);
    if let (Begin::Fork { from, .. }, SessionStart::New) = (&run.plan.begin, &start) {
        // The transcript existed when the round was claimed. From here on every attempt begins a new session, with the prompt of one.
        run.plan.begin_why = Some(plan::transcript_gone(from));
        run.plan.begin = Begin::Fresh;
    }
    let nonce = Nonce::generate();
    run.progress.nonce_hash = Some(nonce.proof().hash());
    run.progress.state = State::Running;
    run.progress.started_at = Some(time::now());
    let record = match is_on_record {
        true => Some(Record::read(mailbox, &run.round(), run.attempt)?.stage(run)?),
        false => None,
    };
    let continued = match &start {
        SessionStart::New => None,
        SessionStart::Continue => Some(run.plan.session_id.to_string()),
        SessionStart::Fork(from) => Some(from.clone()),
    };
    let message = match suspended_call::told(mailbox, &document.typed, run, continued.as_deref()) {
        Told::Nothing => None,
        Told::ToContinue => Some(claude::user_message(&run.continue_id().to_string(), templates::CONTINUE)),
        Told::TheMessage => {
            let text = message::first_message(mailbox, config, &document.typed, run)?;
            Some(claude::user_message(&run.plan.message_id.to_string(), &text))
        }
    };
    let askbox = programs::askbox();
    if !config.approvals.is_empty() {
        can_hold_calls(&runner, askbox.as_deref())?;
    }
    let held = askbox.as_deref().map(|askbox| Held {
        askbox,
        approvals: &config.approvals,
        answers: &config.answers,
        waiting: document.typed.asked.approval.as_ref(),
    });
    let settings = hooks::settings(&run.folder(mailbox), held.as_ref());
    let call = agent_call::of(mailbox, &document.typed, run, &runner, &start, &settings, &nonce);
    let max_turns = Some(config.limits.turns).filter(|turns| *turns > 0 && !budget::says(&call, budget::MAX_TURNS));
    let call = allowance.limit(call, max_turns);
    Ok(Prepared { document, start, message, call, folder, max_turns, record })
}

/// Refuses a launch in which the rules of `[approvals]` would hold nothing.
fn can_hold_calls(runner: &Runner, askbox: Option<&Path>) -> Result<()> {
    let without_hooks = runner.args.iter().map(String::as_str).find(|arg| matches!(*arg, "--bare" | "--safe-mode"));
    if let Some(arg) = agent_call::without_our_settings(runner).or(without_hooks) {
        let message = format!("[approvals] has rules, but with the runner's argument `{arg}` the agent gets no hook that holds a call");
        return Err(Error::failed(message, "take the argument out of [runner.NAME] args, or empty [approvals]"));
    }
    match askbox {
        Some(_) => Ok(()),
        None => Err(Error::failed(
            "[approvals] has rules, but the `askbox` program, which holds the calls, is not found",
            "install it beside `relaunch` or on PATH, or empty [approvals]",
        )),
    }
}

/// Ends an agent that has received no input.
fn end(child: &mut Child) {
    let _ = child.kill().and_then(|()| child.wait());
}

fn spawn(mailbox: &Mailbox, attempt: &OwnedAttempt, call: &Invocation, folder: &WorkFolder, start: SessionStart) -> Result<Spawned> {
    let records = attempt.run.folder(mailbox);
    // Before the launch: an agent that cannot be attended must not be launched.
    let threads = Threads::start()?;
    let (stderr, write_end) = std::io::pipe().io("open a pipe for", &records)?;
    let mut child = launch::spawn(call, folder, File::from(OwnedFd::from(write_end)))?;
    let watched = match ProcessHandle::open(child.id()) {
        Some(process) => Ok(Watched::ByHandle(Arc::new(process))),
        None => Waiting::start().map(Watched::ByThread),
    };
    match watched {
        Ok(watched) => Ok(Spawned { child, watched, stderr, threads, start }),
        Err(e) => {
            end(&mut child);
            Err(e)
        }
    }
}
