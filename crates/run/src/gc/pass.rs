//! One gc: its task, its report, and the limits and checks that all of its steps use.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::Serialize;

use crate::gc::open_workflows::OpenWorkflows;
use crate::gc::round_files::RoundFiles;
use askbox_mailbox::{Error, Folder, Mailbox, QuestionId, Result, RoundId, Span, Time, WorkflowId, disk, read_question, time};

/// The task of a gc.
#[derive(Debug, Clone, Copy, Default)]
pub struct Policy {
    /// Rounds that ended more recently than this are kept, here and in the archive. `None`: no round is removed for good.
    pub keep: Option<Duration>,
    /// Rounds that ended longer ago than this are archived. `None`: no round is archived.
    pub archive: Option<Duration>,
    /// Only tell what would be archived and removed.
    pub dry_run: bool,
}

/// What a gc does with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// The file is removed for good.
    Removed,
    /// The file moves to the archive.
    Archived,
}

/// The amount that left the mailbox's folders, or would.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Tally {
    /// The number of rounds.
    pub rounds: u64,
    /// The number of workflows that nothing is left of.
    pub workflows: u64,
    /// The number of their checkpoints in `checkpoints/`.
    pub checkpoints: u64,
    /// The freed bytes. A dry run knows them of archived rounds only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
}

/// What was archived, or would be.
#[derive(Debug, Clone, Serialize)]
pub struct Archived {
    /// Rounds that ended longer ago than this were archived.
    pub after: Span,
    /// The amount.
    #[serde(flatten)]
    pub tally: Tally,
    /// The bytes that the archive grew by; missing in a dry run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub archive_bytes: Option<u64>,
}

/// The result: the amount that was removed and archived, or would be.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize)]
pub struct Report {
    /// True if this was a dry run, which changes nothing.
    pub dry_run: bool,
    /// Rounds that are younger than this were kept; missing if all were kept.
    pub keep: Option<Span>,
    /// The amount that was removed for good, here and in the archive.
    #[serde(flatten)]
    pub removed: Tally,
    /// What was archived; missing if nothing is to be.
    pub archived: Option<Archived>,
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
    pub(super) dry_run: bool,
    /// The workflows that are not over.
    pub(super) open: OpenWorkflows,
    /// Rounds that ended before this time are old.
    pub(super) before: Time,
    /// What becomes of the rounds that go.
    pub(super) fate: Fate,
    /// In whose name, as the audit trail says it.
    pub(super) by: &'a str,
    /// The rounds that were archived and may be removed, with their files.
    pub(super) archived: HashMap<RoundId, RoundFiles>,
    /// The bytes that the archive grew by.
    pub(super) archive_bytes: u64,
    pub(super) tally: Tally,
    pub(super) left: Vec<Left>,
    /// Is told the files that would go, in a dry run.
    pub(super) tell: &'a mut dyn FnMut(Fate, &str),
}

impl Gc<'_> {
    /// Rounds that ended longer ago than this are old from now on.
    pub(super) fn set_age(&mut self, age: Duration) {
        self.before = chrono::TimeDelta::from_std(age).ok().and_then(|age| time::now().checked_sub_signed(age)).unwrap_or(Time::MIN_UTC);
    }

    /// True if a round may be removed. If rounds are archived, the archive must hold exactly what lies there.
    pub(super) fn may_go(&self, round: &RoundId, is_whole_workflow: bool) -> Result<bool> {
        if self.fate == Fate::Removed {
            return Ok(true);
        }
        let Some(archived) = self.archived.get(round) else { return Ok(false) };
        if *archived == RoundFiles::of(self.mailbox, round, is_whole_workflow)? {
            return Ok(true);
        }
        Err(Error::conflict("it changed while it was archived", "the next gc takes it"))
    }

    /// Reports something that could not be removed.
    pub(super) fn left(&mut self, subject: &str, error: &Error) {
        self.left.push(Left { subject: subject.to_owned(), why: error.to_string(), is_failure: error.exit_code() == 1 });
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
pub(super) fn changed(path: &Path) -> Option<SystemTime> {
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
        let document = disk::if_there(read_question::document(&mailbox.document(folder, workflow)))?;
        ids.extend(document.and_then(|document| document.typed.question_id));
    }
    Ok(ids)
}
