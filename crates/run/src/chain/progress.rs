//! Waiting for a workflow from outside: until it ends, asks a question, or the time is over. A look for its result calls no model.

use std::time::{Duration, Instant};

use crate::chain::outcome::{self, OwnState, TreeState};
use crate::story;
use askbox_mailbox::{Ended, Folder, FolderWatch, Mailbox, Result, WorkflowId, round};

/// The longest time between two looks, because a file event may be lost.
const RECHECK_EVERY: Duration = Duration::from_secs(5);

/// The progress of a workflow.
pub enum Progress {
    /// It has ended.
    Ended(Ended),
    /// Its turn is over, and a person must do something at or below it.
    Asking,
    /// The time is over, and it still works.
    StillWorking,
}

/// Waits until a workflow has ended or asks, or the deadline passes. It only looks. A watcher, or a command's tree driver, does the
/// launches.
pub fn wait(mailbox: &Mailbox, workflow: &WorkflowId, deadline: Option<Instant>) -> Result<Progress> {
    let changes = Changes::watch(mailbox);
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

/// Waits until a workflow has ended; `None` if the deadline passes first. Calls `look` after each look that found no end, with true if
/// a person must do something. It only looks.
pub fn wait_for_end(
    mailbox: &Mailbox,
    workflow: &WorkflowId,
    deadline: Instant,
    mut look: impl FnMut(bool) -> Result<()>,
) -> Result<Option<Ended>> {
    let changes = Changes::watch(mailbox);
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
    fn watch(mailbox: &Mailbox) -> Self {
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
        FolderWatch::wait_or_sleep(self.0.as_ref(), left.min(RECHECK_EVERY));
        true
    }
}

/// Looks for a workflow's result, and waits for it while the workflow works. If there is no result yet, calls `drive` first. The value
/// that `drive` returns lets everything at or below the workflow go on, and is kept until this function returns.
///
/// [`Progress::Asking`] means that the workflow worked during this call, and now waits for something new. A workflow that waits for what
/// it waited for before counts as still working.
///
/// # Errors
/// [`askbox_mailbox::Error::NotFound`] if nothing is known of the workflow.
pub fn resume<D>(mailbox: &Mailbox, workflow: &WorkflowId, deadline: Instant, drive: impl FnOnce() -> Result<D>) -> Result<Progress> {
    let is_known = outcome::own_state(mailbox, workflow)? != OwnState::Unknown;
    if !is_known && round::latest(mailbox, workflow).is_none() {
        return Err(story::unknown(mailbox, workflow));
    }
    let before = outcome::tree_state(mailbox, workflow)?;
    if let TreeState::Ended(ended) = before {
        return Ok(Progress::Ended(ended));
    }
    let _driven = drive()?;
    if before == TreeState::Asking { Ok(Progress::StillWorking) } else { wait(mailbox, workflow, Some(deadline)) }
}
