//! Supervises one attempt from its launch to its end.
//!
//! Starts the process of a claimed attempt and gives it the round. The kind of the workflow's runner decides how.

use std::time::{Duration, Instant};

use crate::attempt::ending::{self, Ending};
use crate::attempt::failure::Class;
use crate::attempt::record::Run;
use crate::claim::moved_folder;
use crate::money::budget::Allowance;
use crate::process::poll_thread::PollSource;
use crate::process::{agent_exit, run_processes};
use crate::supervise::attend::attendance::attend;
use crate::supervise::attend::conclusion::Attended;
use crate::supervise::event_log::EventLog;
use crate::supervise::ownership::{Attempt, Owned, OwnedAttempt};
use crate::supervise::run_message::{self, Stopper};
use crate::supervise::start_agent;
use crate::supervise::started_agent::{Launch, Started};
use askbox_agent::events::Event;
use askbox_config::{Config, EXEC, RunnerKind};
use askbox_mailbox::{Error, Folder, Mailbox, Result, disk, read_question, workflows};

/// How long the supervisor keeps trying to record a delivered run, because no other process knows that it was delivered.
const RECORD_PATIENCE: Duration = Duration::from_secs(300);

/// Supervises one attempt to its end.
///
/// `observe` is called with every event. `watch` gets the handle that stops the run, and returns the sources that the supervisor's poll
/// thread watches besides the agent.
///
/// Returns the record as it is at the end. If another process supervises the round, or the attempt is already over, nothing happens,
/// and the record is returned as it was.
///
/// # Errors
/// If the lock, the record or the ending cannot be read or written, or if an event could not be written. A launch that fails is not an
/// error: the record says why it failed.
pub fn supervise(
    mailbox: &Mailbox,
    config: &Config,
    attempt: Attempt,
    observe: &mut dyn FnMut(&Event),
    watch: impl FnOnce(Stopper) -> Vec<Box<dyn PollSource>>,
) -> Result<Run> {
    run_processes::check_visible()?;
    let mut attempt = match attempt.own(mailbox)? {
        Owned::Ours(attempt) => *attempt,
        Owned::NotOurs(run) => return Ok(*run),
    };
    let mut log = EventLog::new(mailbox, &attempt.run, observe);
    let (channel, messages) = run_message::channel();
    let sources = watch(Stopper::new(channel.clone()));
    // Other runs read in the record how much of the day's money this run reserves.
    if config.limits.day_cost > 0.0 {
        attempt = attempt.put_on_record(mailbox)?;
    }
    let (allowance, refusal) = match Allowance::take(mailbox, config, &mut attempt.run) {
        Ok(allowance) => {
            let refusal = allowance.refusal();
            (allowance, refusal)
        }
        Err(e) => (Allowance::default(), Some(Ending::of_trouble(&e))),
    };
    let refusal = refusal.or_else(|| left_by_exec(config, &attempt.run));
    let refusal = refusal.or_else(|| untrusted(mailbox, config, &mut attempt)).or_else(|| without_folder(mailbox, &attempt.run));
    let Attended { ending, last_event } = match refusal {
        Some(ending) => ending.into(),
        None => match start(Launch { mailbox, config, attempt: &mut attempt, log: &mut log, sources, channel }, &allowance) {
            Ok(started) => attend(mailbox, config, &attempt.run, started, &mut log, &messages, allowance.time()),
            Err(e @ (Error::Failed { .. } | Error::Invalid { .. })) => Ending::Hopeless { why: e.to_string(), mend: e.hint() }.into(),
            Err(e) => Ending::of_trouble(&e).into(),
        },
    };
    attempt = attempt.put_on_record(mailbox)?;
    end_what_is_left(&attempt.run, &mut log);
    last_event.into_iter().for_each(|event| log.event(event));
    attempt.run.cost_usd = log.book.total;
    attempt.run.agent_version = log.agent_version.clone();
    let run = finish(mailbox, config, &attempt.run, &allowance.named(ending), &mut log)?;
    log.failure(&run);
    // The lock is released last, so that a process that waits for it finds the round closed and the log complete.
    drop(attempt);
    log.finish().map(|()| run)
}

/// The ending of an attempt whose document does not count. The claim has checked it too. But anybody who can write to the mailbox can
/// make a claimed round, and the operator may have changed the policy since. The agent is told exactly the document that was judged
/// here.
fn untrusted(mailbox: &Mailbox, config: &Config, attempt: &mut OwnedAttempt) -> Option<Ending> {
    let round = attempt.run.round();
    let document = match attempt.document.take() {
        Some(document) => document,
        None => match read_question::of_round(&mailbox.round(Folder::Running, &round), &round) {
            Ok(document) => document,
            Err(e) => return Some(Ending::of_trouble(&e)),
        },
    };
    let question = &attempt.document.insert(document).typed;
    let what = if question.answer.is_some() { "its answer does not count" } else { "it does not count" };
    let judged = config.answers.policy().judge(question);
    judged.err().map(|why| Ending::Refused { class: Class::Untrusted, why: format!("{what}: {}", why.0) })
}

/// The ending of an attempt that a person ran with `relaunch exec`, if that has died: its program is not the operator's, and no other one
/// may go on in its place by itself.
fn left_by_exec(config: &Config, run: &Run) -> Option<Ending> {
    let is_its_own = config.runner.default == EXEC;
    let why = format!("`relaunch exec` was ended; go on: relaunch exec {} -- PROGRAM", run.workflow_id);
    (run.is_exec() && !is_its_own).then_some(Ending::Interrupted { why, class: None })
}

/// The ending of an attempt whose working folder does not exist.
fn without_folder(mailbox: &Mailbox, run: &Run) -> Option<Ending> {
    let folder = run.cwd.clone()?;
    if !disk::open_folder(&folder).is_err_and(|e| e.is_missing_file()) {
        return None;
    }
    let known = workflows::read(mailbox, &run.workflow_id).ok().flatten();
    let now = known.and_then(|known| moved_folder::find(&known.typed, &folder));
    Some(Ending::NoFolder { folder, now })
}

/// Ends the processes that the agent left behind. None of them may be alive when another process continues the session.
fn end_what_is_left(run: &Run, log: &mut EventLog<'_>) {
    if agent_exit::no_descendant_is_left() {
        return;
    }
    let token = run.token();
    match run_processes::end(|t| t == token, run_processes::TERM_GRACE) {
        Ok(0) => {}
        Ok(ended) => log.note(format!("ended what the agent left behind: {}", run_processes::counted(ended))),
        Err(left) => log.note(format!("{} of this run cannot be killed", run_processes::counted(left))),
    }
}

/// Books the costs, and makes the ending durable. Retries for a while, because a full disk may have room later, and until then only this
/// process knows the ending. A run whose ending is on record is not booked by recovery, so the costs come first. But a cost that cannot
/// be booked does not hold up the ending, except for a while on a full disk.
fn finish(mailbox: &Mailbox, config: &Config, run: &Run, ending: &Ending, log: &mut EventLog<'_>) -> Result<Run> {
    let patience = if matches!(ending, Ending::Delivered { .. }) { RECORD_PATIENCE } else { Duration::from_secs(1) };
    let deadline = Instant::now() + patience;
    let mut pause = Duration::from_millis(50);
    loop {
        let may_wait = Instant::now() + pause < deadline;
        let booked = log.book_rest().or_else(|e| if may_wait { Err(e) } else { Ok(()) });
        match booked.and_then(|()| ending::finish(mailbox, config, run.clone(), ending)) {
            Err(e @ (Error::Io { .. } | Error::Held { .. })) if may_wait => {
                log.note(format!("the ending cannot be recorded yet: {e}"));
                std::thread::sleep(pause);
                pause = (pause * 2).min(Duration::from_secs(10));
            }
            other => return other,
        }
    }
}

/// Launches the agent or the program of an attempt.
pub(crate) fn start(launch: Launch<'_, '_>, allowance: &Allowance) -> Result<Started> {
    // The operator decides at each launch. The runner that the record has from an earlier launch is not a permission.
    let (name, runner) = launch.config.runner_of(&launch.attempt.run.workflow_id)?;
    launch.attempt.run.runner = name;
    match runner.kind {
        RunnerKind::Claude => start_agent::start(launch, &runner, allowance),
        RunnerKind::Program => start_agent::program(launch, &runner),
        RunnerKind::Acp => start_agent::adapter(launch, &runner),
    }
}
