//! Reads the events of a workflow after a given attempt: those of the later attempts of its round, and of its later rounds, as they come.

use std::collections::HashSet;
use std::time::Duration;

use crate::attempt::record::{self, Run};
use crate::view::tail::{Next, RoundEvents};
use askbox_agent::Event;
use askbox_mailbox::{FolderWatch, Mailbox, Result, RoundId, Waker, WorkflowId, list};

/// The longest sleep if file events are available: one may be lost.
const RECHECK_EVERY: Duration = Duration::from_secs(5);
/// The sleep if no file events are available.
const POLL_EVERY: Duration = Duration::from_millis(500);

/// The events of a workflow's later runs.
pub struct WorkflowEvents<'a> {
    mailbox: &'a Mailbox,
    workflow: WorkflowId,
    /// Rounds that were read, or were over before.
    seen: HashSet<RoundId>,
    reading: Option<RoundEvents<'a>>,
    with_partial_text: bool,
    folder_watch: Option<FolderWatch>,
}

impl<'a> WorkflowEvents<'a> {
    /// Everything after this attempt. With `with_partial_text`, also the text that is being generated, as events `partial`.
    pub fn after(mailbox: &'a Mailbox, run: &Run, with_partial_text: bool) -> Self {
        let round = run.round();
        let mut folder_watch = FolderWatch::new(&mailbox.runs_of_workflow(&run.workflow_id)).ok();
        if let Some(folder_watch) = &mut folder_watch {
            let _ = folder_watch.add(&mailbox.runs_of(&round));
        }
        let is_earlier = |r: &RoundId| begun(mailbox, r).is_none_or(|other| other <= run.claimed_at);
        let seen = list::rounds_of(mailbox, &run.workflow_id).filter(|r| *r == round || is_earlier(r)).collect();
        let mut events = Self { mailbox, workflow: run.workflow_id.clone(), seen, reading: None, with_partial_text, folder_watch };
        events.reading = Some(events.events_of(round).after(run.attempt));
        events
    }

    /// A handle that wakes [`wait`](Self::wait) from another thread; `None` if there are no file events.
    pub fn waker(&self) -> Option<Waker> {
        self.folder_watch.as_ref().map(FolderWatch::waker)
    }

    /// The next event, as its line and parsed. `None` if there is none yet.
    pub fn next_event(&mut self) -> Result<Option<(String, Event)>> {
        loop {
            if self.reading.is_none() {
                // The unread round whose run began first.
                let new = list::rounds_of(self.mailbox, &self.workflow).filter(|round| !self.seen.contains(round));
                let Some((_, next)) = new.filter_map(|round| Some((begun(self.mailbox, &round)?, round))).min() else { return Ok(None) };
                self.seen.insert(next.clone());
                self.reading = Some(self.events_of(next));
            }
            let Some(reading) = &mut self.reading else { return Ok(None) };
            // Checked before the events are read, so that the last look reads the last events.
            let goes_on = reading.goes_on()?;
            match reading.read()? {
                Next::Event(line, event) => return Ok(Some((line, *event))),
                Next::Attempt(_) => {}
                Next::Nothing if goes_on => return Ok(None),
                Next::Nothing => self.reading = None,
            }
        }
    }

    /// Sleeps until there may be something new.
    pub fn wait(&mut self) {
        let Some(folder_watch) = &mut self.folder_watch else { return std::thread::sleep(POLL_EVERY) };
        if let Some(reading) = &self.reading {
            let round = self.mailbox.runs_of(&reading.round);
            let attempt = record::folder(self.mailbox, &reading.round, reading.attempt);
            // A folder that was created just now may have had events before it was watched.
            let is_new = |watch: &mut FolderWatch, folder: &std::path::Path| !watch.watches(folder) && watch.add(folder).is_ok();
            if is_new(folder_watch, &round) | is_new(folder_watch, &attempt) {
                return;
            }
        }
        folder_watch.wait(RECHECK_EVERY);
    }

    fn events_of(&self, round: RoundId) -> RoundEvents<'a> {
        let events = RoundEvents::new(self.mailbox, round, false);
        if self.with_partial_text { events.with_partial_text() } else { events }
    }
}

/// When the first attempt of a round was claimed; `None` if there is none.
fn begun(mailbox: &Mailbox, round: &RoundId) -> Option<askbox_mailbox::time::Time> {
    record::read(mailbox, round, 1).ok().map(|run| run.claimed_at)
}
