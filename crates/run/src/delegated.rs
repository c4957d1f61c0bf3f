//! A run as an iterator over its events, for a program that delegates work to an agent.
//!
//! The events are read from the run's `events.jsonl`: a slow reader does not delay the agent or its limits, and memory stays
//! bounded.

use std::sync::mpsc::{self, Receiver};
use std::thread::JoinHandle;

use crate::attempt::record::Run;
use crate::supervise::ladder::StopRequest;
use crate::supervise::run_message::Stopper;
use crate::supervise::supervisor;
use crate::view::tail::EventTail;
use askbox_agent::Event;
use askbox_config::Config;
use askbox_mailbox::{Error, Mailbox, Result, thread};

/// A run that this process supervises, as an iterator over its events. Dropping it stops the run at the next tool boundary and waits
/// until all of its processes have ended.
///
/// ```no_run
/// # fn main() -> askbox_mailbox::Result<()> {
/// use askbox_mailbox::Mailbox;
/// use askbox_run::{delegated::DelegatedRun, task};
///
/// let mailbox = Mailbox::open_or_create("/home/me/.claude/questions")?;
/// let config = askbox_config::load()?.config;
/// let task = task::Task::new("fix-imports".parse()?, "Fix the imports.");
/// let run = task::begin(&mailbox, &config, task)?;
/// for event in DelegatedRun::start(mailbox, config, run)? {
///     println!("{event:?}");
///     if event.seq > 100 {
///         break; // drops the iterator, which stops the agent at its next tool boundary
///     }
/// }
/// # Ok(())
/// # }
/// ```
#[must_use = "dropping it stops the run"]
pub struct DelegatedRun {
    tail: EventTail,
    /// Receives after every event; disconnects when the run ends.
    rings: Receiver<()>,
    stopper: Receiver<Stopper>,
    grace: std::time::Duration,
    thread: Option<JoinHandle<Result<Run>>>,
}

impl DelegatedRun {
    /// Starts to supervise a claimed run in a thread. The agent is launched through the `relaunch` program: see
    /// [`relaunch_is`](crate::process::programs::relaunch_is).
    ///
    /// # Errors
    /// [`Error::is_shortage`] if the system refuses the thread. The run waits in `running/` then.
    pub fn start(mailbox: Mailbox, config: Config, run: Run) -> Result<Self> {
        let (ring, rings) = mpsc::sync_channel(1);
        let (stoppable, stopper) = mpsc::sync_channel(1);
        let grace = config.limits.grace.0;
        let tail = EventTail::new(run.folder(&mailbox).join("events.jsonl"));
        let thread = thread::start(move || {
            let mut observe = |_: &Event| {
                let _ = ring.try_send(());
            };
            supervisor::supervise(&mailbox, &config, (&run).into(), &mut observe, |s| {
                let _ = stoppable.send(s);
                Vec::new()
            })
        })?;
        Ok(Self { tail, rings, stopper, grace, thread: Some(thread) })
    }

    /// Waits for the end of the run and returns its final record. Events that were not read remain in `events.jsonl`.
    pub fn finish(mut self) -> Result<Run> {
        self.join()
    }

    fn join(&mut self) -> Result<Run> {
        let gone = || Error::failed("the supervising thread is gone", "see: relaunch status");
        self.thread.take().ok_or_else(gone)?.join().map_err(|_| gone())?
    }
}

impl Iterator for DelegatedRun {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        loop {
            // Checked before the file is read: after the run has ended nothing more is written.
            let over = matches!(self.rings.try_recv(), Err(mpsc::TryRecvError::Disconnected));
            match self.tail.next_event() {
                Ok(Some((_, event))) => return Some(event),
                Ok(None) if !over => drop(self.rings.recv()),
                Ok(None) | Err(_) => return None,
            }
        }
    }
}

impl Drop for DelegatedRun {
    fn drop(&mut self) {
        if self.thread.is_some() {
            if let Ok(stopper) = self.stopper.recv() {
                stopper.stop(StopRequest { why: "its reader went away".into(), grace: self.grace, report: false, now: false });
            }
            let _ = self.join();
        }
    }
}
