//! `askbox gc`: history that is over for long enough goes. Safe beside everything else, other gcs too: each step is taken
//! under its workflow's lock, and what could still be needed is left alone.
//!
//! A round goes by one rename, `closed/W.Q.json` → `closed/.tmpgone.W.Q.json`: from then on nobody sees it. Then its runs are
//! removed, the renamed document last, so that the next gc finds what a killed one left. Nothing is synced: after a power cut
//! a pruned round may be there again, without its runs, until the next gc.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::Serialize;

use crate::disk;
use crate::error::{Error, IoContext, Result};
use crate::id::{QuestionId, RoundId, WorkflowId};
use crate::mailbox::audit::{self, Entry};
use crate::mailbox::{Folder, Mailbox, list};
use crate::time::{self, Span, Time};

mod open;
mod remove;
mod select;

/// What a document's name begins with once it is no longer there for anybody.
pub const GONE: &str = ".tmpgone.";

/// A checkpoint that was saved this lately says that somebody is at work, whatever is to be kept.
const AT_WORK: Duration = Duration::from_secs(3600);

/// So many rounds are removed under one hold of their workflow's lock, which others may be waiting for.
const AT_ONCE: usize = 50;

/// What is to be kept.
#[derive(Debug, Clone, Copy, Default)]
pub struct Policy {
    /// What was over less long ago; `None`: everything.
    pub keep: Option<Duration>,
    /// Only say what would go.
    pub dry_run: bool,
}

/// What went, or would go.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Report {
    /// Nothing was removed.
    pub dry_run: bool,
    /// What was kept: everything that was over less long ago; missing where all is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep: Option<Span>,
    /// Rounds.
    pub rounds: u64,
    /// Workflows of which nothing is left.
    pub workflows: u64,
    /// Their checkpoints, as far as askbox kept them.
    pub checkpoints: u64,
    /// What the disk got back; missing where nothing was removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// In a dry run, what would go.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub would_go: Vec<String>,
    /// What could not be pruned.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<Left>,
}

/// Something that could not be pruned.
#[derive(Debug, Clone, Serialize)]
pub struct Left {
    /// The workflow, or the round.
    pub subject: String,
    /// Why.
    pub why: String,
    /// The system refused; otherwise somebody was at work there.
    #[serde(skip)]
    pub is_failure: bool,
}

struct Gc<'a> {
    mailbox: &'a Mailbox,
    open: open::Open,
    /// What was over before this is old.
    before: Time,
    report: Report,
}

/// Prunes. What cannot be pruned is told in the report and holds up nothing else.
///
/// # Errors
/// Where the mailbox cannot be read.
pub fn run(mailbox: &Mailbox, policy: Policy) -> Result<Report> {
    let report = Report { dry_run: policy.dry_run, keep: policy.keep.map(Span), ..Report::default() };
    let mut gc = Gc { mailbox, open: open::Open::default(), before: Time::MIN_UTC, report };
    if !policy.dry_run {
        gc.report.bytes = Some(0);
        gc.complete()?;
    }
    if let Some(keep) = policy.keep {
        gc.before = chrono::TimeDelta::from_std(keep).ok().and_then(|k| time::now().checked_sub_signed(k)).unwrap_or(Time::MIN_UTC);
        gc.open = open::Open::of(mailbox)?;
        for (workflow, rounds) in gc.old_rounds()? {
            if let Err(e) = gc.prune(&workflow, rounds) {
                gc.left(workflow.as_str(), &e);
            }
        }
    }
    let Report { rounds, workflows, checkpoints, .. } = gc.report;
    if !policy.dry_run && rounds > 0 {
        let why = format!("{rounds} rounds, {workflows} workflows, {checkpoints} checkpoints");
        audit::record(mailbox, Entry::about("pruned").by("askbox gc").why(why));
    }
    Ok(gc.report)
}

impl Gc<'_> {
    fn left(&mut self, subject: &str, error: &Error) {
        self.report.left.push(Left { subject: subject.to_owned(), why: error.to_string(), is_failure: error.exit_code() == 1 });
    }

    /// The closed rounds whose files have not been changed lately, by workflow. Names and times; bodies are read later.
    fn old_rounds(&self) -> Result<BTreeMap<WorkflowId, Vec<QuestionId>>> {
        let folder = self.mailbox.folder(Folder::Closed);
        let mut found: BTreeMap<WorkflowId, Vec<QuestionId>> = BTreeMap::new();
        for entry in std::fs::read_dir(&folder).io("read", &folder)? {
            let entry = entry.io("read", &folder)?;
            if let Some(round) = entry.file_name().to_str().and_then(RoundId::from_file_name)
                && self.is_old(&entry.path())
            {
                found.entry(round.workflow).or_default().push(round.question);
            }
        }
        Ok(found)
    }

    /// Whether a plain file has not been changed lately.
    fn is_old(&self, path: &Path) -> bool {
        changed(path).is_some_and(|at| at <= SystemTime::from(self.before))
    }

    /// Whether a workflow has a checkpoint that was saved lately, or that is none of ours.
    fn has_young_checkpoint(&self, workflow: &WorkflowId) -> bool {
        let path = self.mailbox.document(Folder::Checkpoints, workflow);
        let is_at_work = || changed(&path).is_none_or(|at| at.elapsed().unwrap_or_default() < AT_WORK);
        path.symlink_metadata().is_ok() && (!self.is_old(&path) || is_at_work())
    }

    /// One workflow: all of it, where it is over, else those of its old rounds that nothing needs.
    fn prune(&mut self, workflow: &WorkflowId, old: Vec<QuestionId>) -> Result<()> {
        let lock = self.mailbox.lock(workflow)?;
        let selection = self.select(&lock, &old.into_iter().collect())?;
        drop(lock);
        if self.report.dry_run {
            self.tell(workflow, &selection);
            return Ok(());
        }
        for some in selection.rounds.chunks(AT_ONCE) {
            let lock = self.mailbox.lock(workflow)?;
            self.remove_rounds(&lock, some, selection.last.is_none())?;
        }
        match selection.last {
            Some(last) => self.remove_workflow(workflow, last),
            None => Ok(()),
        }
    }

    fn tell(&mut self, workflow: &WorkflowId, selection: &select::Selection) {
        let whole = selection.last.is_some();
        let checkpoint = whole && self.mailbox.document(Folder::Checkpoints, workflow).symlink_metadata().is_ok();
        let rounds = selection.rounds.iter().chain(&selection.last);
        let names = rounds.map(|q| format!("closed/{}", RoundId { workflow: workflow.clone(), question: *q }.file_name()));
        self.report.would_go.extend(names.chain(checkpoint.then(|| format!("checkpoints/{}", workflow.file_name()))));
        self.report.rounds += (selection.rounds.len() + usize::from(whole)) as u64;
        self.report.workflows += u64::from(whole);
        self.report.checkpoints += u64::from(checkpoint);
    }

    /// What a gc that was killed left: rounds that are gone are gone to the end, and a workflow's record and checkpoint that it
    /// had set aside are put back, for this one to judge.
    fn complete(&mut self) -> Result<()> {
        for folder in [Folder::Checkpoints, Folder::Workflows] {
            for name in list::hidden_names(self.mailbox, folder)? {
                let Some(workflow) = name.strip_prefix(GONE).and_then(WorkflowId::from_file_name) else { continue };
                let _lock = self.mailbox.lock(&workflow)?;
                let aside = self.mailbox.folder(folder).join(&name);
                if self.mailbox.document(folder, &workflow).symlink_metadata().is_ok() {
                    disk::untouch(&aside)?;
                } else {
                    disk::set_aside(&aside, &self.mailbox.document(folder, &workflow))?;
                }
            }
        }
        for name in list::hidden_names(self.mailbox, Folder::Closed)? {
            let Some(round) = name.strip_prefix(GONE).and_then(RoundId::from_file_name) else { continue };
            let lock = self.mailbox.lock(&round.workflow)?;
            let places = [Folder::Running, Folder::Parked, Folder::Closed];
            if places.iter().any(|f| self.mailbox.round(*f, &round).symlink_metadata().is_ok()) {
                // The same round, brought back by somebody: its runs are its own again.
                disk::untouch(&self.mailbox.folder(Folder::Closed).join(&name))?;
            } else if let Err(e) = self.remove_runs(&lock, &round) {
                self.left(&round.to_string(), &e);
            }
        }
        Ok(())
    }
}

/// When a plain file was changed.
fn changed(path: &Path) -> Option<SystemTime> {
    path.symlink_metadata().ok().filter(|m| m.is_file())?.modified().ok()
}

/// The name of a document that is no longer there for anybody.
fn gone(mailbox: &Mailbox, folder: Folder, name: &str) -> PathBuf {
    mailbox.folder(folder).join(format!("{GONE}{name}"))
}

/// The rounds that a workflow's open documents name; one that cannot be read may name any.
fn named(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<BTreeSet<QuestionId>> {
    let mut ids = BTreeSet::new();
    for folder in [Folder::Pending, Folder::Answered] {
        match crate::mailbox::read::document(&mailbox.document(folder, workflow)) {
            Ok(document) => ids.extend(document.typed.question_id),
            Err(e) if e.is_missing_file() => {}
            Err(e) => return Err(e),
        }
    }
    Ok(ids)
}
