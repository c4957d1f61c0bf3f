//! A run in the foreground: this process supervises its first attempt, and prints the events on standard output. A Unix signal stops the
//! run, and so does a reader that goes away. `follow_to_the_end` does what the workflow needs after that attempt.
//!
//! The second part of a foreground command, after the attempt that it supervised itself. It lets its tree go on: the next attempt after a
//! back-off, answers that have arrived, wake-ups by children. It prints the events of its workflow until the workflow has ended or waits
//! for a person.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, TryRecvError};
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::launch::gate::Gate;
use crate::relaunch::event_words::Clock;
use crate::relaunch::logs::{STUCK_READER_LIMIT, print_event};
use crate::tree_driver::TreeDriver;
use askbox_agent::Event;
use askbox_cli::{hangup, program};
use askbox_config::Config;
use askbox_mailbox::documents::awaited::End;
use askbox_mailbox::{Ended, Error, Mailbox, Result, Waker, WorkflowId, round, thread, time};
use askbox_run::chain::outcome::TreeState;
use askbox_run::chain::progress::{self, Progress};
use askbox_run::process::agent_exit;
use askbox_run::process::poll_thread::{self, PollSource};
use askbox_run::supervise::ladder::StopRequest;
use askbox_run::supervise::ownership::Attempt;
use askbox_run::supervise::run_message::Stopper;
use askbox_run::supervise::stop::Stop;
use askbox_run::supervise::supervisor;
use askbox_run::view::tail::EventTail;
use askbox_run::view::workflow_events::WorkflowEvents;
use askbox_run::{OwnState, Run, RunState, log, on_demand, outcome, record};

/// Supervises an attempt in this process and prints its events. Then prints what follows, until the workflow has ended or waits for a
/// person. Returns the exit status.
///
/// # Errors
/// An error for every end except a delivered answer, with a hint on how to go on.
pub fn run(mailbox: &Mailbox, config: Config, attempt: Attempt, json: bool) -> Result<u8> {
    // Signals are caught from now on, so that none is missed between the first attempt and the part that follows.
    let signals = catch_signals()?;
    let run = supervise(mailbox, &config, attempt, json)?;
    if run.is_delivered() {
        Gate::delivered_by_hand(mailbox, &config, &run);
    }
    let goes_on = match run.state {
        RunState::Failed => run.retry_at.is_some(),
        // The workflow may still have to be told how its children ended, or may have an answer already.
        RunState::Delivered | RunState::Asking => outcome::tree_state(mailbox, &run.workflow_id)? == TreeState::Working,
        _ => false,
    };
    if let (RunState::Failed, Some(at), false) = (run.state, run.retry_at, json) {
        let (workflow, next) = (&run.workflow_id, run.attempt.saturating_add(1));
        program::say(&format!(
            "{workflow}: attempt {} failed; attempt {next} starts at {}; Ctrl-C stops the run\n",
            run.attempt,
            time::rfc3339(at)
        ));
    }
    if goes_on { follow_to_the_end(mailbox, &config, &run, signals, json) } else { exit_status_of_run(run) }
}

/// Supervises an attempt in this process and prints its events. Returns its final record.
///
/// # Errors
/// Those of [`run`].
pub fn supervise(mailbox: &Mailbox, config: &Config, attempt: Attempt, json: bool) -> Result<Run> {
    let grace = config.limits.grace.0;
    // A message through the channel wakes the printer. When the sender is dropped, no more events will come.
    let (wake_printer, woken) = mpsc::sync_channel(1);
    let (to_printer, stopper) = mpsc::sync_channel::<Stopper>(2);
    let (progress, printed) = mpsc::channel();
    // A separate thread prints the events, and reads them from their file. So a slow reader delays neither the agent nor a stop.
    let lines = EventTail::new(attempt.folder(mailbox).join("events.jsonl"));
    let lines = if json { lines.with_partial_text() } else { lines };
    let printer = thread::start(move || {
        let is_complete = print_attempt(lines, json, &woken, &progress).is_ok();
        // The reader is gone, so the run is stopped. Its events are still recorded.
        if !is_complete && let Ok(stopper) = stopper.recv() {
            stopper.stop(reader_gone(grace));
        }
    })?;
    let mut on_event = |_: &Event| {
        let _ = wake_printer.try_send(());
    };
    let stop_by = |s: Stopper| {
        let _ = to_printer.send(s.clone());
        let signals = catch_stop_signals(s.clone(), grace, None);
        signals.into_iter().chain([hangup::source(move || s.stop(reader_gone(grace)))]).collect()
    };
    agent_exit::adopt_orphans();
    let supervised = supervisor::supervise(mailbox, config, attempt, &mut on_event, stop_by);
    agent_exit::leave_orphans();
    drop(wake_printer);
    let stopped = !matches!(&supervised, Ok(run) if run.is_delivered());
    // A reader that keeps reading gets every event.
    while !printer.is_finished() {
        match printed.recv_timeout(STUCK_READER_LIMIT) {
            Err(RecvTimeoutError::Timeout) if stopped => break,
            Ok(()) | Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                let _ = printer.join();
                break;
            }
        }
    }
    supervised
}

/// Prints every event, until the run is over. An error means that the reader is gone.
fn print_attempt(mut lines: EventTail, json: bool, woken: &Receiver<()>, progress: &Sender<()>) -> Result<()> {
    let clock = Clock::of_output();
    loop {
        // `over` is checked before the file is read: a file that is read after its last writer ended is read completely.
        let over = matches!(woken.try_recv(), Err(TryRecvError::Disconnected));
        while let Some((line, event)) = lines.next_event()? {
            print_event(&line, &event, json, clock)?;
            let _ = progress.send(());
        }
        if over {
            return Ok(());
        }
        let _ = woken.recv();
    }
}

/// The exit status of a run that is over, or the error to report.
pub(super) fn exit_status_of_run(run: Run) -> Result<u8> {
    let go_on =
        if run.is_exec() { format!("relaunch exec {} -- PROGRAM", run.workflow_id) } else { format!("relaunch {}", run.workflow_id) };
    let retry = if run.is_exec() { go_on.clone() } else { format!("relaunch retry {}", run.workflow_id) };
    let (workflow, why) = (run.workflow_id, run.why.unwrap_or_default());
    match run.state {
        RunState::Delivered | RunState::Asking => Ok(0),
        RunState::Failed => Err(Error::failed(
            format!("{workflow} failed: {why}"),
            format!("a watcher tries again after {}; see: relaunch logs {workflow}", run.retry_at.map(time::rfc3339).unwrap_or_default()),
        )),
        RunState::Interrupted => Err(Error::failed(format!("{workflow} was stopped: {why}"), format!("to continue it: {go_on}"))),
        RunState::Parked => Err(Error::failed(format!("{workflow} is parked: {why}"), format!("fix the cause, then: {retry}"))),
        RunState::Claimed | RunState::Running => {
            Err(Error::conflict(format!("another process runs {workflow} now"), format!("follow it: relaunch logs -f {workflow}")))
        }
    }
}

fn reader_gone(grace: Duration) -> StopRequest {
    StopRequest { why: "its reader went away".into(), grace, report: false, now: false }
}

enum Happened {
    /// The workflow has ended or asks.
    Over(Result<Progress>),
    /// The reader took an event.
    Printed,
    /// Every event is printed, or the reader is gone.
    PrinterEnded { complete: bool },
    /// A Unix signal came, but the workflow has no run to stop.
    NothingToStop(Error),
}

/// Catches SIGTERM, SIGINT and SIGHUP from now on.
pub fn catch_signals() -> Result<Signals> {
    Signals::new([SIGTERM, SIGINT, SIGHUP])
        .map_err(|e| Error::failed(format!("cannot listen for Unix signals: {e}"), "is the process limit reached?"))
}

/// The last run of a workflow that waits for its children, if something below it can go on without a person.
pub fn last_turn_of_waiting(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<Option<Run>> {
    let waits = matches!(outcome::own_state(mailbox, workflow)?, OwnState::Waiting(_));
    if !waits || outcome::tree_state(mailbox, workflow)? != TreeState::Working {
        return Ok(None);
    }
    round::latest(mailbox, workflow).map_or(Ok(None), |last| record::latest(mailbox, &last.id))
}

/// Lets the workflow's tree go on after this attempt, and prints the workflow's events. Returns the exit status.
///
/// # Errors
/// An error for every end without a result, with a hint on how to go on.
pub fn follow_to_the_end(mailbox: &Mailbox, config: &Config, run: &Run, mut signals: Signals, json: bool) -> Result<u8> {
    log::warnings_to_stderr();
    let workflow = &run.workflow_id;
    let (sender, happened) = mpsc::channel();
    let is_over = Arc::new(AtomicBool::new(false));
    let waker = start_printer(mailbox, run, json, sender.clone(), is_over.clone())?;
    let _driven = TreeDriver::start(mailbox, config, workflow)?;
    let (waiting, awaited, tell) = (mailbox.clone(), workflow.clone(), sender.clone());
    thread::start(move || drop(tell.send(Happened::Over(progress::wait(&waiting, &awaited, None)))))?;
    let stopper = TreeStopper { mailbox: mailbox.clone(), config: config.clone(), workflow: workflow.clone(), sender };
    let (by_signal, by_hangup) = (stopper.clone(), stopper.clone());
    thread::start(move || {
        let mut now = false;
        for signal in signals.forever() {
            let name = signal_hook::low_level::signal_name(signal).unwrap_or("a signal");
            // The second signal skips the wait for the tool call in flight.
            by_signal.stop(name, std::mem::replace(&mut now, true));
        }
    })?;
    let _poll_thread = hangup::on_hangup(move || by_hangup.stop(READER_GONE, false));
    let (mut end, mut is_printing, mut stopped) = (None, true, false);
    loop {
        let next = if end.is_some() && stopped {
            happened.recv_timeout(STUCK_READER_LIMIT)
        } else {
            happened.recv().map_err(|_| RecvTimeoutError::Disconnected)
        };
        match next {
            Ok(Happened::Over(progress)) => {
                let progress = progress?;
                stopped = matches!(&progress, Progress::Ended(ended) if ended.end == End::Interrupted);
                end = Some(progress);
                is_over.store(true, Ordering::Release);
                waker.iter().for_each(Waker::wake);
            }
            Ok(Happened::PrinterEnded { complete }) => {
                is_printing = false;
                if !complete {
                    stopper.stop(READER_GONE, false);
                }
            }
            Ok(Happened::NothingToStop(e)) if end.is_none() => return Err(left_waiting(workflow, &e)),
            Ok(Happened::Printed | Happened::NothingToStop(_)) => {}
            // The reader no longer takes any event.
            Err(RecvTimeoutError::Timeout) => is_printing = false,
            Err(RecvTimeoutError::Disconnected) => break,
        }
        if !is_printing && end.is_some() {
            break;
        }
    }
    exit_status(workflow, end)
}

const READER_GONE: &str = "a reader that went away";

/// Prints the events in a separate thread, so that a slow reader does not delay a stop.
fn start_printer(mailbox: &Mailbox, run: &Run, json: bool, sender: Sender<Happened>, is_over: Arc<AtomicBool>) -> Result<Option<Waker>> {
    let (mailbox, run) = (mailbox.clone(), run.clone());
    let (give, waker) = mpsc::sync_channel(1);
    thread::start(move || {
        let mut events = WorkflowEvents::after(&mailbox, &run, json);
        let _ = give.send(events.waker());
        let complete = print_all(&mut events, json, &sender, &is_over).is_ok();
        let _ = sender.send(Happened::PrinterEnded { complete });
    })?;
    Ok(waker.recv().ok().flatten())
}

fn print_all(events: &mut WorkflowEvents<'_>, json: bool, sender: &Sender<Happened>, is_over: &AtomicBool) -> Result<()> {
    let clock = Clock::of_output();
    loop {
        // `is_over` is read before the events, so that the last look reads the last events.
        let over = is_over.load(Ordering::Acquire);
        while let Some((line, event)) = events.next_event()? {
            print_event(&line, &event, json, clock)?;
            let _ = sender.send(Happened::Printed);
        }
        if over {
            return Ok(());
        }
        events.wait();
    }
}

/// Stops the workflow's run, whichever process supervises it, as `relaunch stop` does.
#[derive(Clone)]
struct TreeStopper {
    mailbox: Mailbox,
    config: Config,
    workflow: WorkflowId,
    sender: Sender<Happened>,
}

impl TreeStopper {
    /// Requests the stop, and returns at once.
    fn stop(&self, by: &str, now: bool) {
        let (this, stop) = (self.clone(), Stop { at: time::now(), by: by.into(), grace: None, report: false, now, by_limit: false });
        let stops = thread::start(move || {
            let stopped = on_demand::stop(&this.mailbox, &this.workflow, &stop, || Ok(this.config.clone()), |_| {});
            match stopped {
                Ok(_) => {}
                Err(e @ Error::NotFound { .. }) => drop(this.sender.send(Happened::NothingToStop(e))),
                Err(e) => log::error(&e),
            }
        });
        log::ok(stops);
    }
}

fn left_waiting(workflow: &WorkflowId, nothing: &Error) -> Error {
    let hint = format!("to wait again: relaunch resume {workflow}; to stop everything: relaunch stop --tree {workflow}");
    Error::failed(format!("{nothing}; what it started runs on"), hint)
}

/// The exit status of a workflow that is over or asks, or the error to report.
fn exit_status(workflow: &WorkflowId, end: Option<Progress>) -> Result<u8> {
    match end {
        Some(Progress::Ended(Ended { end: End::Delivered, .. }) | Progress::Asking) => Ok(0),
        Some(Progress::Ended(Ended { end: End::Interrupted, text, .. })) => {
            Err(Error::failed(format!("{workflow} was stopped: {text}"), format!("to continue it: relaunch {workflow}")))
        }
        Some(Progress::Ended(Ended { end: End::Parked, text, .. })) => {
            Err(Error::failed(format!("{workflow} is parked: {text}"), format!("fix the cause, then: relaunch retry {workflow}")))
        }
        Some(Progress::Ended(Ended { end, text, .. })) => {
            Err(Error::failed(format!("{workflow} ended: {}: {text}", end.word()), format!("details: relaunch status {workflow}")))
        }
        Some(Progress::StillWorking) | None => {
            Err(Error::failed(format!("{workflow} still works"), format!("wait again: relaunch resume {workflow}")))
        }
    }
}

/// Turns Unix signals into requests to stop, from now on. The second signal skips the wait for the tool call in flight. Signals before
/// `ignore_until` are ignored: they are meant for the process group where the supervisor was started. `None` if they cannot be caught.
pub fn catch_stop_signals(stopper: Stopper, grace: Duration, ignore_until: Option<Instant>) -> Option<Box<dyn PollSource>> {
    let mut caught = poll_thread::catch_unix_signals(&[SIGTERM, SIGINT, SIGHUP]).ok()?;
    let mut had_one = false;
    Some(poll_thread::to_read(caught.get_read().try_clone().ok()?, move |_| {
        let counts = ignore_until.is_none_or(|t| Instant::now() >= t);
        for signal in caught.pending().filter(|_| counts) {
            let name = signal_hook::low_level::signal_name(signal).unwrap_or("a signal");
            let now = std::mem::replace(&mut had_one, true);
            stopper.stop(StopRequest { why: format!("the supervisor got {name}"), grace, report: false, now });
        }
        true
    }))
}
