//! A run in the foreground: read along on standard output, stopped by a signal or by a reader that goes away.

use std::io::{Stdout, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, TryRecvError};
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::agent::events::Event;
use crate::config::Config;
use crate::error::{Error, IoContext, Result};
use crate::mailbox::Mailbox;
use crate::run::claim::record::{Run, State};
use crate::run::process::lookout::{self, Lookout, Signals, Source};
use crate::run::process::processes;
use crate::run::supervise::ladder::Request;
use crate::run::supervise::supervisor::{self, Attempt, Stopper};
use crate::run::view::tail::Lines;
use crate::surface::relaunch::follow;
use crate::{text, time};

/// How long a reader that takes nothing may hold up the end of a run that was stopped.
const READER_PATIENCE: Duration = Duration::from_secs(5);

/// Supervises a run here, its events on standard output. Returns when it is over, with the exit status that fits.
pub(super) fn foreground(mailbox: &Mailbox, config: Config, attempt: Attempt, json: bool) -> Result<u8> {
    let grace = config.limits.grace.0;
    let (ring, rings) = mpsc::sync_channel(1);
    let (stoppable, stopper) = mpsc::sync_channel::<Stopper>(2);
    let (progress, printed) = mpsc::channel();
    // Printing has a thread and reads the file: a reader that is slow, or does not read at all, holds up neither the agent nor
    // whoever stops it.
    let lines = Lines::of(attempt.folder(mailbox).join("events.jsonl"));
    let printer = std::thread::spawn(move || {
        let whole = print_all(lines, json, &rings, &progress).is_ok();
        // What cannot be shown any more is still recorded.
        if !whole && let Ok(stopper) = stopper.recv() {
            stopper.stop(reader_gone(grace));
        }
    });
    let mut observe = |_: &Event| {
        let _ = ring.try_send(());
    };
    let stop_by = |s: Stopper| {
        let _ = stoppable.send(s.clone());
        let signals = StopSignals::catch(s.clone(), grace, None);
        signals.into_iter().chain([hangup(move || s.stop(reader_gone(grace)))]).collect()
    };
    processes::adopt_orphans();
    let supervised = supervisor::supervise(mailbox, &config, attempt, &mut observe, stop_by);
    drop(ring);
    let stopped = !matches!(&supervised, Ok(run) if run.state == State::Delivered);
    // As long as the reader takes something he gets all of it.
    while !printer.is_finished() {
        match printed.recv_timeout(READER_PATIENCE) {
            Ok(()) => {}
            Err(RecvTimeoutError::Timeout) if stopped => break,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                let _ = printer.join();
                break;
            }
        }
    }
    ended(supervised?)
}

fn print_all(mut lines: Lines, json: bool, rings: &Receiver<()>, progress: &Sender<()>) -> Result<()> {
    let mut out = std::io::stdout();
    loop {
        // Asked before the file is read: what is there once nobody writes is all there will be.
        let over = matches!(rings.try_recv(), Err(TryRecvError::Disconnected));
        while let Some((line, event)) = lines.next_event()? {
            let shown = if json { text::escape_json(&line) + "\n" } else { follow::words(&event) };
            out.write_all(shown.as_bytes()).and_then(|()| out.flush()).io("write to", "standard output")?;
            let _ = progress.send(());
        }
        if over {
            return Ok(());
        }
        let _ = rings.recv();
    }
}

fn ended(run: Run) -> Result<u8> {
    let (workflow, why) = (run.workflow_id, run.why.unwrap_or_default());
    match run.state {
        State::Delivered => Ok(0),
        State::Failed => Err(Error::failed(
            format!("{workflow} failed: {why}"),
            format!("a watcher tries again after {}; see: relaunch logs {workflow}", run.retry_at.map(time::rfc3339).unwrap_or_default()),
        )),
        State::Interrupted => {
            Err(Error::failed(format!("{workflow} was stopped: {why}"), format!("go on where it was: relaunch {workflow}")))
        }
        State::Parked => Err(Error::failed(format!("{workflow} is parked: {why}"), format!("mend that, then: relaunch retry {workflow}"))),
        State::Claimed | State::Running => {
            Err(Error::conflict(format!("somebody else runs {workflow} by now"), format!("read along: relaunch logs -f {workflow}")))
        }
    }
}

fn reader_gone(grace: Duration) -> Request {
    request("its reader went away", grace)
}

fn request(why: &str, grace: Duration) -> Request {
    Request { why: why.into(), grace, report: false, now: false }
}

/// SIGTERM, SIGINT and SIGHUP climb the ladder instead of killing us: the agent's session is kept. A second one is impatient.
pub(super) struct StopSignals {
    caught: Signals,
    stopper: Stopper,
    grace: Duration,
    /// Before this time they mean somebody else.
    deaf_until: Option<Instant>,
    again: bool,
}

impl StopSignals {
    pub(super) fn catch(stopper: Stopper, grace: Duration, deaf_until: Option<Instant>) -> Option<Box<dyn Source>> {
        let caught = lookout::signals(&[SIGTERM, SIGINT, SIGHUP]).ok()?;
        Some(Box::new(Self { caught, stopper, grace, deaf_until, again: false }))
    }
}

impl Source for StopSignals {
    fn fds(&self) -> Vec<BorrowedFd<'_>> {
        vec![self.caught.get_read().as_fd()]
    }

    fn ready(&mut self) -> bool {
        let is_meant = self.deaf_until.is_none_or(|t| Instant::now() >= t);
        for signal in self.caught.pending().filter(|_| is_meant) {
            let name = signal_hook::low_level::signal_name(signal).unwrap_or("a signal");
            let now = std::mem::replace(&mut self.again, true);
            self.stopper.stop(Request { now, ..request(&format!("the supervisor got {name}"), self.grace) });
        }
        true
    }
}

/// Whoever reads our standard output closes the pipe: also where nothing is to be written for a while.
struct Hangup<F> {
    out: Stdout,
    gone: F,
}

impl<F: FnMut() + Send> Source for Hangup<F> {
    fn fds(&self) -> Vec<BorrowedFd<'_>> {
        vec![self.out.as_fd()]
    }

    fn is_read(&self) -> bool {
        false
    }

    fn ready(&mut self) -> bool {
        (self.gone)();
        false
    }
}

fn hangup(gone: impl FnMut() + Send + 'static) -> Box<dyn Source> {
    Box::new(Hangup { out: std::io::stdout(), gone })
}

/// Calls `gone` when whoever reads our standard output goes away, from a thread of its own.
pub(crate) fn on_hangup(gone: impl FnMut() + Send + 'static) -> Option<Lookout> {
    let mut lookout = Lookout::new().ok()?;
    lookout.start(vec![hangup(gone)]);
    Some(lookout)
}
