//! What a foreground command does after the attempt that it supervised itself: it lets its tree go on (the next attempt after a
//! back-off, answers that are there, wake-ups by children), and prints the events of its workflow, until that has ended or waits for a
//! person.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::chain::progress::{self, Progress};
use crate::config::Config;
use crate::disk::file_events::Waker;
use crate::error::{Error, Result};
use crate::id::WorkflowId;
use crate::mailbox::Mailbox;
use crate::mailbox::documents::awaited::{End, Ended};
use crate::run::attempt::record::Run;
use crate::run::on_demand;
use crate::run::supervise::stop::stop_request::Stop;
use crate::run::view::workflow_events::WorkflowEvents;
use crate::surface::hangup;
use crate::surface::relaunch::event_words::Clock;
use crate::surface::relaunch::events::printed_events::{STUCK_READER_LIMIT, print_event};
use crate::watch::tree_driver::TreeDriver;
use crate::{log, thread, time};

enum Happened {
    /// The workflow has ended or asks.
    Over(Result<Progress>),
    /// The reader took an event.
    Printed,
    /// Every event is printed, or the reader is gone.
    PrinterEnded { complete: bool },
    /// A Unix signal came, and no run of the workflow is there to be stopped.
    NothingToStop(Error),
}

/// Catches SIGTERM, SIGINT and SIGHUP from now on.
pub fn catch_signals() -> Result<Signals> {
    Signals::new([SIGTERM, SIGINT, SIGHUP])
        .map_err(|e| Error::failed(format!("cannot listen for Unix signals: {e}"), "is the process limit reached?"))
}

/// Lets the workflow's tree go on after this attempt, and prints the workflow's events. Returns the exit status.
///
/// # Errors
/// Every end without a result, with a hint on how to go on.
pub fn follow(mailbox: &Mailbox, config: &Config, run: &Run, mut signals: Signals, json: bool) -> Result<u8> {
    log::warnings_to_stderr(config.log.format);
    let workflow = &run.workflow_id;
    let (sender, happened) = mpsc::channel();
    let is_over = Arc::new(AtomicBool::new(false));
    let waker = start_printer(mailbox, run, json, sender.clone(), is_over.clone())?;
    let _driven = TreeDriver::start(mailbox, config, workflow)?;
    let (waiting, awaited, tell) = (mailbox.clone(), workflow.clone(), sender.clone());
    thread::start(move || tell.send(Happened::Over(progress::wait(&waiting, &awaited, None))))?;
    let stopper = Stopper { mailbox: mailbox.clone(), config: config.clone(), workflow: workflow.clone(), sender };
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
                stopped = matches!(&progress, Progress::Ended(ended) if ended.end == End::Stopped);
                end = Some(progress);
                is_over.store(true, Ordering::Release);
                waker.iter().for_each(Waker::wake);
            }
            Ok(Happened::Printed) => {}
            Ok(Happened::PrinterEnded { complete }) => {
                is_printing = false;
                if !complete {
                    stopper.stop(READER_GONE, false);
                }
            }
            Ok(Happened::NothingToStop(e)) if end.is_none() => return Err(left_waiting(workflow, &e)),
            Ok(Happened::NothingToStop(_)) => {}
            // The reader takes nothing any more.
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

/// Prints the events in a thread of its own: a reader that is slow delays no stop.
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
        // Asked before the events are read, so that the last look reads the last events.
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
struct Stopper {
    mailbox: Mailbox,
    config: Config,
    workflow: WorkflowId,
    sender: Sender<Happened>,
}

impl Stopper {
    /// Returns at once.
    fn stop(&self, by: &str, now: bool) {
        let (this, stop) = (self.clone(), Stop { at: time::now(), by: by.into(), grace: None, report: false, now });
        let stops = thread::start(move || {
            let stopped = on_demand::stop(&this.mailbox, &this.workflow, &stop, || Ok(this.config.clone()), |_| {});
            match stopped {
                Ok(_) => {}
                Err(e @ Error::NotFound { .. }) => drop(this.sender.send(Happened::NothingToStop(e))),
                Err(e) => log::error(&e),
            }
        });
        if let Err(e) = stops {
            log::error(&e);
        }
    }
}

fn left_waiting(workflow: &WorkflowId, nothing: &Error) -> Error {
    Error::failed(
        format!("{nothing}; what it started runs on"),
        format!("to wait again: relaunch resume {workflow}; to stop everything: relaunch stop --tree {workflow}"),
    )
}

/// The exit status of a workflow that is over or asks, or the error to report.
fn exit_status(workflow: &WorkflowId, end: Option<Progress>) -> Result<u8> {
    match end {
        Some(Progress::Ended(Ended { end: End::Finished, .. }) | Progress::Asking) => Ok(0),
        Some(Progress::Ended(Ended { end: End::Stopped, text, .. })) => {
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
