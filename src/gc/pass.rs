//! One run of gc: its limits, its report, and the checks that all of its steps use.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::disk;
use crate::error::{Error, Result};
use crate::gc::open::Open;
use crate::gc::policy::{Left, Report};
use crate::id::{QuestionId, WorkflowId};
use crate::mailbox::{Folder, Mailbox, read_question};
use crate::time::Time;

/// The prefix of a document that is being removed. Readers pass such names over.
pub const GONE: &str = ".tmpgone.";

/// A checkpoint that was saved less long ago belongs to work in progress, whatever the limit is.
const AT_WORK: Duration = Duration::from_secs(3600);

/// One run of gc.
pub(super) struct Gc<'a> {
    pub(super) mailbox: &'a Mailbox,
    /// The workflows that are not over.
    pub(super) open: Open,
    /// Rounds that ended before this time are old.
    pub(super) before: Time,
    pub(super) report: Report,
}

impl Gc<'_> {
    /// Reports something that could not be removed.
    pub(super) fn left(&mut self, subject: &str, error: &Error) {
        self.report.left.push(Left { subject: subject.to_owned(), why: error.to_string(), is_failure: error.exit_code() == 1 });
    }

    /// Whether a regular file was last changed before the limit.
    pub(super) fn is_old(&self, path: &Path) -> bool {
        changed(path).is_some_and(|at| at <= SystemTime::from(self.before))
    }

    /// Whether a workflow has a checkpoint that was saved lately, or that is not a regular file.
    pub(super) fn has_young_checkpoint(&self, workflow: &WorkflowId) -> bool {
        let path = self.mailbox.document(Folder::Checkpoints, workflow);
        let is_at_work = || changed(&path).is_none_or(|at| at.elapsed().unwrap_or_default() < AT_WORK);
        disk::exists(&path) && (!self.is_old(&path) || is_at_work())
    }
}

/// The modification time of a regular file.
fn changed(path: &Path) -> Option<SystemTime> {
    disk::metadata(path).ok().filter(|m| m.is_file())?.modified().ok()
}

/// The hidden name of a document that is being removed.
pub(super) fn gone(mailbox: &Mailbox, folder: Folder, name: &str) -> PathBuf {
    mailbox.folder(folder).join(format!("{GONE}{name}"))
}

/// The `question_id`s in the workflow's pending and answered documents. An error if one cannot be read: it may name any round.
pub(super) fn named(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<BTreeSet<QuestionId>> {
    let mut ids = BTreeSet::new();
    for folder in [Folder::Pending, Folder::Answered] {
        match read_question::document(&mailbox.document(folder, workflow)) {
            Ok(document) => ids.extend(document.typed.question_id),
            Err(e) if e.is_missing_file() => {}
            Err(e) => return Err(e),
        }
    }
    Ok(ids)
}
