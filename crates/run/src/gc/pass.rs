//! One gc: its task, its report, and the limits and checks that all of its steps use.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::Serialize;

use crate::gc::open_workflows::OpenWorkflows;
use askbox_mailbox::error::{Error, Result};
use askbox_mailbox::id::{QuestionId, WorkflowId};
use askbox_mailbox::time::{Span, Time};
use askbox_mailbox::{Folder, Mailbox, disk, read_question};

/// The task of a gc.
#[derive(Debug, Clone, Copy, Default)]
pub struct Policy {
    /// Rounds that ended more recently than this are kept. `None`: all rounds are kept, and only the work of an interrupted gc is
    /// completed.
    pub keep: Option<Duration>,
    /// Only report the rounds that would be removed.
    pub dry_run: bool,
}

/// The result: the amount that was removed, or would be.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Report {
    /// True if this was a dry run, which removes nothing.
    pub dry_run: bool,
    /// Rounds that are younger than this were kept; missing if all were kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep: Option<Span>,
    /// The number of rounds.
    pub rounds: u64,
    /// The number of workflows that were removed completely.
    pub workflows: u64,
    /// The number of their checkpoints in `checkpoints/`.
    pub checkpoints: u64,
    /// The freed bytes; missing in a dry run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// In a dry run, the files that would be removed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub would_go: Vec<String>,
    /// The things that could not be removed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<Left>,
}

/// Something that could not be removed.
#[derive(Debug, Clone, Serialize)]
pub struct Left {
    /// The workflow or the round.
    pub subject: String,
    /// The reason.
    pub why: String,
    /// True if the system refused the removal. Otherwise another process was using it.
    #[serde(skip)]
    pub is_failure: bool,
}

/// The prefix of a document that is being removed. Readers skip such names.
pub const GONE: &str = ".tmpgone.";

/// A checkpoint that is younger than this belongs to work in progress, whatever the limit is.
const AT_WORK: Duration = Duration::from_secs(3600);

/// One run of gc.
pub(super) struct Gc<'a> {
    pub(super) mailbox: &'a Mailbox,
    /// The workflows that are not over.
    pub(super) open: OpenWorkflows,
    /// Rounds that ended before this time are old.
    pub(super) before: Time,
    pub(super) report: Report,
}

impl Gc<'_> {
    /// Reports something that could not be removed.
    pub(super) fn left(&mut self, subject: &str, error: &Error) {
        self.report.left.push(Left { subject: subject.to_owned(), why: error.to_string(), is_failure: error.exit_code() == 1 });
    }

    /// True if a regular file was last changed before the limit.
    pub(super) fn is_old(&self, path: &Path) -> bool {
        changed(path).is_some_and(|at| at <= SystemTime::from(self.before))
    }

    /// True if a workflow has a checkpoint that was saved lately, or that is not a regular file.
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

/// The `question_id`s in the workflow's pending and answered documents. If one cannot be read, this is an error, because it may name
/// any round.
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
