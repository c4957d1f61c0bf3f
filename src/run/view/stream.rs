//! A run as an iterator: for a program that delegates work and reads along. Dropping it stops the run, politely, and waits
//! until nothing of it lives.
//!
//! The events are read from the run's own file, at the reader's pace: a reader that is slow, or looks at nothing for an hour, holds
//! neither the agent nor its limits back, and memory stays bounded.

use std::sync::mpsc::{self, Receiver};
use std::thread::JoinHandle;

use crate::agent::events::Event;
use crate::config::Config;
use crate::error::{Error, Result};
use crate::mailbox::Mailbox;
use crate::run::claim::record::Run;
use crate::run::supervise::ladder::Request;
use crate::run::supervise::supervisor::{self, Stopper};
use crate::run::view::tail::Lines;

/// The events of a run that this process supervises.
///
/// ```no_run
/// # fn main() -> askbox::Result<()> {
/// use askbox::{config, mailbox::Mailbox, run::{stream::Stream, task}};
///
/// let mailbox = Mailbox::open_or_create("/home/me/.claude/questions")?;
/// let config = config::load()?.config;
/// let task = task::Task::new("fix-imports".parse()?, "Fix the imports.");
/// let run = task::begin(&mailbox, &config, task)?;
/// for event in Stream::start(mailbox, config, run) {
///     println!("{event:?}");
///     if event.seq > 100 {
///         break; // dropping the stream stops the agent at its next tool boundary
///     }
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "dropping it stops the run"]
pub struct Stream {
    lines: Lines,
    /// Rings for every event; ends with the run.
    rings: Receiver<()>,
    stopper: Receiver<Stopper>,
    grace: std::time::Duration,
    thread: Option<JoinHandle<Result<Run>>>,
}

impl Stream {
    /// Starts to supervise a claimed run. The agent is launched through the `relaunch` program: see
    /// [`relaunch_is`](crate::run::process::launch::relaunch_is).
    pub fn start(mailbox: Mailbox, config: Config, run: Run) -> Self {
        let (ring, rings) = mpsc::sync_channel(1);
        let (stoppable, stopper) = mpsc::sync_channel(1);
        let grace = config.limits.grace.0;
        let lines = Lines::of(run.folder(&mailbox).join("events.jsonl"));
        let thread = std::thread::spawn(move || {
            let mut observe = |_: &Event| {
                let _ = ring.try_send(());
            };
            supervisor::supervise(&mailbox, &config, (&run).into(), &mut observe, |s| {
                let _ = stoppable.send(s);
                Vec::new()
            })
        });
        Self { lines, rings, stopper, grace, thread: Some(thread) }
    }

    /// Waits for the end and returns the record as it is then. Events that were not read are in `events.jsonl`.
    pub fn finish(mut self) -> Result<Run> {
        self.join()
    }

    fn join(&mut self) -> Result<Run> {
        let gone = || Error::failed("the supervising thread is gone", "see: relaunch status");
        self.thread.take().ok_or_else(gone)?.join().map_err(|_| gone())?
    }
}

impl Iterator for Stream {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        loop {
            // Asked before the file is read: what is there once nobody writes is all there will be.
            let over = matches!(self.rings.try_recv(), Err(mpsc::TryRecvError::Disconnected));
            match self.lines.next_event() {
                Ok(Some((_, event))) => return Some(event),
                Ok(None) if !over => drop(self.rings.recv()),
                Ok(None) | Err(_) => return None,
            }
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if self.thread.is_some() {
            if let Ok(stopper) = self.stopper.recv() {
                stopper.stop(Request { why: "its reader went away".into(), grace: self.grace, report: false, now: false });
            }
            let _ = self.join();
        }
    }
}
