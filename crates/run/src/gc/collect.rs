//! The course of a gc: finds the old rounds, and prunes one workflow after the other.

use std::collections::BTreeMap;

use crate::gc::open_workflows::OpenWorkflows;
use crate::gc::pass::{Gc, Policy, Report};
use crate::gc::select::Selection;
use askbox_mailbox::audit::{self, Entry};
use askbox_mailbox::error::{Error, IoContext, Result};
use askbox_mailbox::id::{QuestionId, RoundId, WorkflowId};
use askbox_mailbox::time::{self, Span, Time};
use askbox_mailbox::{Folder, Mailbox, disk};

/// The most rounds that are removed under one hold of their workflow's lock, because other processes may be waiting for it.
const AT_ONCE: usize = 50;

/// Removes the rounds that ended before the limit and are not needed. If something cannot be removed, it is reported, and the rest is
/// removed all the same.
///
/// # Errors
/// If the mailbox cannot be read.
pub fn run(mailbox: &Mailbox, policy: Policy) -> Result<Report> {
    let report = Report { dry_run: policy.dry_run, keep: policy.keep.map(Span), ..Report::default() };
    let mut gc = Gc { mailbox, open: OpenWorkflows::default(), before: Time::MIN_UTC, report };
    if !policy.dry_run {
        gc.report.bytes = Some(0);
        gc.complete()?;
    }
    if let Some(keep) = policy.keep {
        gc.before = chrono::TimeDelta::from_std(keep).ok().and_then(|k| time::now().checked_sub_signed(k)).unwrap_or(Time::MIN_UTC);
        gc.open = OpenWorkflows::read(mailbox)?;
        let mut waits_for_locks = true;
        for (workflow, rounds) in gc.old_rounds()? {
            let pruned = match waits_for_locks || !mailbox.is_locked(&workflow)? {
                true => gc.prune(&workflow, rounds),
                false => Err(Error::failed("another process holds its lock", "the next gc takes it")),
            };
            if let Err(e) = pruned {
                // Many workflows share a lock. If a process hangs while it holds one, the gc waits for it only once.
                waits_for_locks &= !mailbox.is_locked(&workflow)?;
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
    /// The closed rounds whose files are old, by workflow. Reads names and times only.
    fn old_rounds(&self) -> Result<BTreeMap<WorkflowId, Vec<QuestionId>>> {
        let folder = self.mailbox.folder(Folder::Closed);
        let mut found: BTreeMap<WorkflowId, Vec<QuestionId>> = BTreeMap::new();
        for entry in disk::entries(&folder).io("read", &folder)? {
            let entry = entry.io("read", &folder)?;
            if let Some(round) = entry.name.to_str().and_then(RoundId::from_file_name)
                && self.is_old(&entry.path)
            {
                found.entry(round.workflow).or_default().push(round.question);
            }
        }
        Ok(found)
    }

    /// Prunes one workflow: all of it if it is over, otherwise its old rounds that are not needed.
    fn prune(&mut self, workflow: &WorkflowId, old: Vec<QuestionId>) -> Result<()> {
        let lock = self.mailbox.lock(workflow)?;
        let selection = self.select(&lock, &old.into_iter().collect())?;
        drop(lock);
        if self.report.dry_run {
            self.report_only(workflow, &selection);
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

    /// Reports the rounds that would be removed.
    fn report_only(&mut self, workflow: &WorkflowId, selection: &Selection) {
        let whole = selection.last.is_some();
        let checkpoint = whole && disk::exists(self.mailbox.document(Folder::Checkpoints, workflow));
        let rounds = selection.rounds.iter().chain(&selection.last);
        let names = rounds.map(|q| format!("closed/{}", RoundId { workflow: workflow.clone(), question: *q }.file_name()));
        self.report.would_go.extend(names.chain(checkpoint.then(|| format!("checkpoints/{}", workflow.file_name()))));
        self.report.rounds += (selection.rounds.len() + usize::from(whole)) as u64;
        self.report.workflows += u64::from(whole);
        self.report.checkpoints += u64::from(checkpoint);
    }
}
