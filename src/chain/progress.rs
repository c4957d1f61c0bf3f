//! Waiting for a workflow from outside: until it ends, asks a question, or the time is over.

use std::time::{Duration, Instant};

use crate::chain::outcome::{self, TreeState};
use crate::disk::file_events::FolderWatch;
use crate::error::Result;
use crate::id::WorkflowId;
use crate::mailbox::documents::awaited::Ended;
use crate::mailbox::{Folder, Mailbox};

/// The longest time between two looks: a file event may be lost.
const RECHECK_EVERY: Duration = Duration::from_secs(5);
/// The time between two looks where there are no file events.
const POLL_EVERY: Duration = Duration::from_millis(500);

/// How far a workflow has come.
#[derive(Debug)]
pub enum Progress {
    /// It has ended.
    Ended(Ended),
    /// Its turn is over, and a person must do something at or below it.
    Asking,
    /// The time is over, and it still works.
    StillWorking,
}

/// Waits until a workflow has ended or asks, or the deadline passes. This only looks: a watcher, or a command's tree driver, launches.
pub fn wait(mailbox: &Mailbox, workflow: &WorkflowId, deadline: Option<Instant>) -> Result<Progress> {
    let changes = Changes::of(mailbox);
    loop {
        match outcome::tree_state(mailbox, workflow)? {
            TreeState::Ended(ended) => return Ok(Progress::Ended(ended)),
            TreeState::Asking => return Ok(Progress::Asking),
            TreeState::Working => {}
        }
        if !changes.wait(deadline) {
            return Ok(Progress::StillWorking);
        }
    }
}

/// Waits until a workflow has ended; `None` if the deadline passes first. Calls `look` after each look that found no end, with whether a
/// person must do something. This only looks.
pub fn wait_for_end(
    mailbox: &Mailbox,
    workflow: &WorkflowId,
    deadline: Instant,
    mut look: impl FnMut(bool) -> Result<()>,
) -> Result<Option<Ended>> {
    let changes = Changes::of(mailbox);
    loop {
        let asks = match outcome::tree_state(mailbox, workflow)? {
            TreeState::Ended(ended) => return Ok(Some(ended)),
            TreeState::Asking => true,
            TreeState::Working => false,
        };
        look(asks)?;
        if !changes.wait(Some(deadline)) {
            return Ok(None);
        }
    }
}

/// The folders whose changes may change the state of a workflow.
struct Changes(Option<FolderWatch>);

impl Changes {
    fn of(mailbox: &Mailbox) -> Self {
        let mut folder_watch = FolderWatch::new(&mailbox.folder(Folder::Running)).ok();
        for folder in [Folder::Pending, Folder::Answered, Folder::Closed, Folder::Parked, Folder::Awaits] {
            if let Some(folder_watch) = &mut folder_watch {
                let _ = folder_watch.add(&mailbox.folder(folder));
            }
        }
        Self(folder_watch)
    }

    /// Waits until something may have changed. Returns false, at once, if the deadline has passed.
    fn wait(&self, deadline: Option<Instant>) -> bool {
        let left = deadline.map_or(RECHECK_EVERY, |deadline| deadline.saturating_duration_since(Instant::now()));
        if left.is_zero() {
            return false;
        }
        match &self.0 {
            Some(folder_watch) => folder_watch.wait(left.min(RECHECK_EVERY)),
            None => std::thread::sleep(left.min(POLL_EVERY)),
        }
        true
    }
}
