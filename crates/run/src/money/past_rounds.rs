//! What the rounds of a workflow add up to, without reading the records of thousands of past ones.
//!
//! A file keeps the sum of the rounds that are not among the newest ones of the workflow ([`recent_rounds`]). All of these are closed, so
//! what they add does not change. The others are read each time.
//!
//! The file is a hint, is not synced, and may be removed. It is used only if the folders that came into `runs/W` since are exactly the
//! newest rounds that it does not know. Otherwise the records of all rounds are read. btrfs and other filesystems that do not count the
//! folders of a folder have no such file.

use std::collections::HashSet;
use std::path::Path;
use std::time::SystemTime;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::money::costs;
use askbox_mailbox::error::Result;
use askbox_mailbox::id::{QuestionId, RoundId, WorkflowId};
use askbox_mailbox::listing::list;
use askbox_mailbox::listing::recent_rounds::{self, Folders};
use askbox_mailbox::{Mailbox, disk, document};

/// A sum over rounds.
pub(super) trait Sum: Clone + Serialize + DeserializeOwned {
    /// The longest file that is read, in bytes.
    const LONGEST: u64;

    /// Adds a round.
    fn add(&mut self, mailbox: &Mailbox, round: &RoundId) -> Result<()>;

    /// True if this sum was begun with `nothing`, so that it still counts.
    fn follows(&self, nothing: &Self) -> bool;
}

/// A sum as its file holds it.
#[derive(Debug, Serialize, Deserialize)]
struct Kept<S> {
    schema_version: u32,
    /// The folder `runs/W`, and how many folders it had.
    folders: Folders,
    /// The sum of all rounds but the `others`.
    #[serde(flatten)]
    sum: S,
    /// The newest rounds at that time.
    others: Vec<QuestionId>,
}

/// The sum of all rounds that have a folder in `runs/W`, begun with `nothing`. `path` is the file.
pub(super) fn sum<S: Sum>(mailbox: &Mailbox, workflow: &WorkflowId, path: &Path, nothing: &S) -> Result<S> {
    let folders = recent_rounds::folders(mailbox, workflow);
    if folders.is_none() && !disk::exists(mailbox.runs_of_workflow(workflow)) {
        // A workflow whose first question waits.
        return Ok(nothing.clone());
    }
    let recent = recent_rounds::recent(mailbox, workflow);
    let newest: HashSet<QuestionId> = recent.rounds.into_iter().map(|round| round.question).collect();
    let add = |sum: &mut S, rounds: &mut dyn Iterator<Item = QuestionId>| -> Result<()> {
        for question in rounds {
            sum.add(mailbox, &RoundId { workflow: workflow.clone(), question })?;
        }
        Ok(())
    };
    let mut sum = nothing.clone();
    if recent.are_all {
        add(&mut sum, &mut newest.iter().copied())?;
        return Ok(sum);
    }
    let kept = folders.and_then(|folders| Some((folders, read::<S>(path)?)));
    let is_changed = match kept.filter(|(folders, kept)| kept.sum.follows(nothing) && kept.follows(*folders, &newest)) {
        Some((_, kept)) => {
            let gone: Vec<QuestionId> = kept.others.iter().filter(|other| !newest.contains(other)).copied().collect();
            sum = kept.sum;
            add(&mut sum, &mut gone.iter().copied())?;
            kept.others.len() != newest.len() || !gone.is_empty()
        }
        None => {
            let mut past = list::rounds_of(mailbox, workflow).map(|round| round.question).filter(|question| !newest.contains(question));
            add(&mut sum, &mut past)?;
            true
        }
    };
    // A folder that came during the look may be in both sums, or in none.
    let is_same = folders.is_some() && folders == recent_rounds::folders(mailbox, workflow);
    if let Some(folders) = folders.filter(|_| is_changed && is_same) {
        let others = newest.iter().copied().collect();
        keep(mailbox, path, &Kept { schema_version: document::SCHEMA_VERSION, folders, sum: sum.clone(), others });
    }
    add(&mut sum, &mut newest.iter().copied())?;
    Ok(sum)
}

impl<S> Kept<S> {
    /// True if the rounds that came since are exactly those of `newest` that are not among the others.
    fn follows(&self, folders: Folders, newest: &HashSet<QuestionId>) -> bool {
        let known: HashSet<QuestionId> = self.others.iter().copied().collect();
        let came = newest.iter().filter(|question| !known.contains(question)).count() as u64;
        folders.inode == self.folders.inode && folders.count.checked_sub(self.folders.count) == Some(came)
    }
}

fn read<S: Sum>(path: &Path) -> Option<Kept<S>> {
    document::json(&disk::read(path, S::LONGEST).ok()?)
}

/// Writes the file. If that fails, the next reader reads more.
fn keep<S: Sum>(mailbox: &Mailbox, path: &Path, kept: &Kept<S>) {
    let Ok(bytes) = document::to_json(kept) else { return };
    if disk::replace_unsynced(path, &bytes, SystemTime::now()).is_err_and(|e| e.is_missing_file())
        && let Some(folder) = path.parent()
    {
        let _ = disk::touch_folder(&costs::folder(mailbox)).and_then(|()| disk::touch_folder(folder));
        let _ = disk::replace_unsynced(path, &bytes, SystemTime::now());
    }
}
