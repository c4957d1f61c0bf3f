//! A run as an iterator: for a program that delegates work and reads along. Dropping it stops the run, politely, and waits
//! until nothing of it lives.

use std::sync::mpsc::{self, Receiver};
use std::thread::JoinHandle;

use super::events::Event;
use super::ladder::Request;
use super::record::Run;
use super::supervisor::{self, Stopper};
use crate::config::Config;
use crate::error::{Error, Result};
use crate::mailbox::Mailbox;

/// The events of a run that this process supervises.
///
/// ```no_run
/// # fn main() -> askbox::Result<()> {
/// use askbox::{config, mailbox::Mailbox, run::{stream::Stream, task}};
///
/// let mailbox = Mailbox::open_or_create("/home/me/.claude/questions")?;
/// let config = config::load()?.config;
/// let task = task::Task { workflow: "fix-imports".parse()?, prompt: "Fix the imports.".into(), cwd: None, parent: None };
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
    events: Option<Receiver<Event>>,
    stopper: Receiver<Stopper>,
    grace: std::time::Duration,
    thread: Option<JoinHandle<Result<Run>>>,
}

impl Stream {
    /// Starts to supervise a claimed run.
    pub fn start(mailbox: Mailbox, config: Config, run: Run) -> Self {
        // The reader sets the pace: an agent that is faster waits, and memory stays bounded.
        let (sender, events) = mpsc::sync_channel(64);
        let (stoppable, stopper) = mpsc::sync_channel(1);
        let grace = config.limits.grace.0;
        let thread = std::thread::spawn(move || {
            let mut observe = |event: &Event| drop(sender.send(event.clone()));
            supervisor::supervise(&mailbox, &config, run, &mut observe, |s| drop(stoppable.send(s)))
        });
        Self { events: Some(events), stopper, grace, thread: Some(thread) }
    }

    /// Waits for the end and returns the record as it is then. Events that were not read are in `events.jsonl`.
    pub fn finish(mut self) -> Result<Run> {
        // Without a reader, sending fails at once and holds nobody back.
        self.events = None;
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
        self.events.as_ref()?.recv().ok()
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.events = None;
        if self.thread.is_some() {
            if let Ok(stopper) = self.stopper.recv() {
                stopper.stop(Request { why: "its reader went away".into(), grace: self.grace, report: false, now: false });
            }
            let _ = self.join();
        }
    }
}
