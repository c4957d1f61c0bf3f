//! A run in the foreground: this process supervises its first attempt. Events go to standard output. A Unix signal stops the run, and so
//! does a reader that goes away. What the workflow needs after that attempt is in `to_the_end`.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, TryRecvError};
use std::time::Duration;

use crate::agent::events::Event;
use crate::chain::outcome::{self, TreeState};
use crate::config::Config;
use crate::error::{Error, Result};
use crate::mailbox::Mailbox;
use crate::run::attempt::record::{Run, State};
use crate::run::process::agent_exit;
use crate::run::supervise::ladder::Request;
use crate::run::supervise::ownership::Attempt;
use crate::run::supervise::run_message::Stopper;
use crate::run::supervise::supervisor;
use crate::run::view::tail::EventTail;
use crate::surface::hangup;
use crate::surface::relaunch::event_words::Clock;
use crate::surface::relaunch::events::printed_events::{STUCK_READER_LIMIT, print_event};
use crate::surface::relaunch::{stop_signals, to_the_end};
use crate::{thread, time};

/// Supervises an attempt in this process and prints its events. Then prints what follows, until the workflow has ended or waits for a
/// person. Returns the exit status.
///
/// # Errors
/// Every end other than a delivered answer, with a hint on how to go on.
pub fn run(mailbox: &Mailbox, config: Config, attempt: Attempt, json: bool) -> Result<u8> {
    // Caught from now on, so that none is missed between the first attempt and what follows.
    let signals = to_the_end::catch_signals()?;
    let run = supervise(mailbox, &config, attempt, json)?;
    let goes_on = match run.progress.state {
        State::Failed => run.progress.retry_at.is_some(),
        // It may have to be told how its children ended, or have an answer already.
        State::Delivered | State::Asking => outcome::tree_state(mailbox, &run.workflow_id)? == TreeState::Working,
        _ => false,
    };
    if goes_on { to_the_end::follow(mailbox, &config, &run, signals, json) } else { exit_status(run) }
}

/// Supervises an attempt in this process and prints its events. Returns its final record.
fn supervise(mailbox: &Mailbox, config: &Config, attempt: Attempt, json: bool) -> Result<Run> {
    let grace = config.limits.grace.0;
    // Its sender wakes the printer; when the sender is dropped, no more events will come.
    let (wake_printer, woken) = mpsc::sync_channel(1);
    let (to_printer, stopper) = mpsc::sync_channel::<Stopper>(2);
    let (progress, printed) = mpsc::channel();
    // A thread of its own prints, and it reads the events from their file: a slow reader delays neither the agent nor a stop.
    let lines = EventTail::of(attempt.folder(mailbox).join("events.jsonl"));
    let lines = if json { lines.with_partial_text() } else { lines };
    let printer = thread::start(move || {
        let is_complete = print_all(lines, json, &woken, &progress).is_ok();
        // The reader is gone, so the run is stopped; its events are still recorded.
        if !is_complete && let Ok(stopper) = stopper.recv() {
            stopper.stop(reader_gone(grace));
        }
    })?;
    let mut on_event = |_: &Event| {
        let _ = wake_printer.try_send(());
    };
    let stop_by = |s: Stopper| {
        let _ = to_printer.send(s.clone());
        let signals = stop_signals::catch(s.clone(), grace, None);
        signals.into_iter().chain([hangup::source(move || s.stop(reader_gone(grace)))]).collect()
    };
    agent_exit::adopt_orphans();
    let supervised = supervisor::supervise(mailbox, config, attempt, &mut on_event, stop_by);
    agent_exit::leave_orphans();
    drop(wake_printer);
    let stopped = !matches!(&supervised, Ok(run) if run.is_delivered());
    // A reader that goes on reading gets every event.
    while !printer.is_finished() {
        match printed.recv_timeout(STUCK_READER_LIMIT) {
            Ok(()) => {}
            Err(RecvTimeoutError::Timeout) if stopped => break,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                let _ = printer.join();
                break;
            }
        }
    }
    supervised
}

/// Prints every event, until the run is over. An error means that the reader is gone.
fn print_all(mut lines: EventTail, json: bool, woken: &Receiver<()>, progress: &Sender<()>) -> Result<()> {
    let clock = Clock::of_output();
    loop {
        // This is checked before the file is read: a file that is read after its last writer ended is read completely.
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
fn exit_status(run: Run) -> Result<u8> {
    let (workflow, why) = (run.workflow_id, run.progress.why.unwrap_or_default());
    match run.progress.state {
        State::Delivered | State::Asking => Ok(0),
        State::Failed => Err(Error::failed(
            format!("{workflow} failed: {why}"),
            format!(
                "a watcher tries again after {}; see: relaunch logs {workflow}",
                run.progress.retry_at.map(time::rfc3339).unwrap_or_default()
            ),
        )),
        State::Interrupted => Err(Error::failed(format!("{workflow} was stopped: {why}"), format!("to continue it: relaunch {workflow}"))),
        State::Parked => {
            Err(Error::failed(format!("{workflow} is parked: {why}"), format!("fix the cause, then: relaunch retry {workflow}")))
        }
        State::Claimed | State::Running => {
            Err(Error::conflict(format!("another process runs {workflow} now"), format!("follow it: relaunch logs -f {workflow}")))
        }
    }
}

fn reader_gone(grace: Duration) -> Request {
    Request { why: "its reader went away".into(), grace, report: false, now: false }
}
