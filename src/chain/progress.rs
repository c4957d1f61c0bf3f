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
    let mut folder_watch = FolderWatch::new(&mailbox.folder(Folder::Running)).ok();
    for folder in [Folder::Pending, Folder::Answered, Folder::Closed, Folder::Parked, Folder::Awaits] {
        if let Some(folder_watch) = &mut folder_watch {
            let _ = folder_watch.add(&mailbox.folder(folder));
        }
    }
    loop {
        match outcome::tree_state(mailbox, workflow)? {
            TreeState::Ended(ended) => return Ok(Progress::Ended(ended)),
            TreeState::Asking => return Ok(Progress::Asking),
            TreeState::Working => {}
        }
        let left = deadline.map_or(RECHECK_EVERY, |deadline| deadline.saturating_duration_since(Instant::now()));
        if left.is_zero() {
            return Ok(Progress::StillWorking);
        }
        match &folder_watch {
            Some(folder_watch) => folder_watch.wait(left.min(RECHECK_EVERY)),
            None => std::thread::sleep(left.min(POLL_EVERY)),
        }
    }
}
