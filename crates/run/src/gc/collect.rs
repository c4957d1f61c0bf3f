//! The course of a gc: finds the old rounds, and prunes one workflow after the other.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::archive::{self, Writer};
use crate::gc::open_workflows::OpenWorkflows;
use crate::gc::pass::{Fate, Gc, Policy, Report, Tally, changed};
use crate::gc::select::Selection;
use askbox_mailbox::audit::Entry;
use askbox_mailbox::listing::list;
use askbox_mailbox::listing::newest_first::NewestFirst;
use askbox_mailbox::time::Span;
use askbox_mailbox::{Error, Folder, Mailbox, QuestionId, Result, RoundId, Time, WorkflowId, audit, disk};

/// The most rounds that are removed under one hold of their workflow's lock, because other processes may be waiting for it.
pub(super) const AT_ONCE: usize = 50;

/// The most rounds that are in memory at once.
const IN_MEMORY: usize = 1 << 16;

/// A round whose file is old, and the time of that file.
pub(super) type OldRound = (Time, RoundId);

/// Removes the rounds that ended before the limit and are not needed. Archives those that ended before the other limit. If something
/// cannot be removed, it is reported, and the rest is done all the same. In a dry run, `tell` is told each file that would go:
/// first those that would be removed, then those that would be archived.
///
/// # Errors
/// If the mailbox cannot be read.
pub fn run(mailbox: &Mailbox, policy: Policy, tell: &mut dyn FnMut(Fate, &str)) -> Result<Report> {
    run_as("askbox gc", mailbox, policy, tell)
}

/// [`run`] by the program `by`, as the audit trail names it.
///
/// # Errors
/// Those of [`run`].
pub fn run_as(by: &str, mailbox: &Mailbox, policy: Policy, tell: &mut dyn FnMut(Fate, &str)) -> Result<Report> {
    let mut gc = Gc {
        mailbox,
        dry_run: policy.dry_run,
        open: OpenWorkflows::default(),
        before: Time::MIN_UTC,
        archived: None,
        tally: Tally::default(),
        left: Vec::new(),
        tell,
    };
    let mut report = Report { dry_run: policy.dry_run, keep: policy.keep.map(Span), ..Report::default() };
    if !policy.dry_run {
        gc.tally.bytes = Some(0);
        gc.complete()?;
        gc.remove_abandoned_files()?;
    }
    if policy.keep.is_some() || policy.archive.is_some() {
        gc.open = OpenWorkflows::read(mailbox)?;
    }
    if let Some(keep) = policy.keep {
        gc.set_age(keep);
        report.months = gc.remove_months()?;
        let mut old = gc.old_rounds(None);
        while let Some(rounds) = next(&mut old)? {
            gc.prune_all(rounds)?;
        }
    }
    report.removed = std::mem::take(&mut gc.tally);
    let Tally { rounds, workflows, checkpoints, .. } = report.removed;
    if !policy.dry_run && rounds > 0 {
        let why = format!("{rounds} rounds, {workflows} workflows, {checkpoints} checkpoints");
        audit::record(mailbox, Entry::about("pruned").by(by).why(why));
    }
    if !policy.dry_run {
        report.indexes = gc.make_lost_indexes()?;
    }
    if let Some(age) = policy.archive {
        // A dry run has not removed the rounds that go for good.
        let after = policy.keep.filter(|_| policy.dry_run).map(|_| gc.before);
        report.archived = Some(gc.archive(age, after, by)?);
    }
    report.left = gc.left;
    Ok(report)
}

/// The next portion of rounds. `None` if there are no more.
pub(super) fn next(old: &mut dyn Iterator<Item = Result<OldRound>>) -> Result<Option<Vec<OldRound>>> {
    let rounds = old.take(IN_MEMORY).collect::<Result<Vec<_>>>()?;
    Ok(Some(rounds).filter(|rounds| !rounds.is_empty()))
}

impl Gc<'_> {
    /// The closed rounds whose files are old, the oldest first: those that changed after `after`, if that is given. Reads names and times
    /// only.
    pub(super) fn old_rounds(&self, after: Option<Time>) -> impl Iterator<Item = Result<OldRound>> + use<> {
        let (mailbox, before) = (self.mailbox.clone(), self.before);
        let scan = move |offer: &mut dyn FnMut(Reverse<OldRound>)| {
            for round in list::each_round(&mailbox, Folder::Closed)? {
                let round = round?;
                let at = changed(&mailbox.round(Folder::Closed, &round)).map(Time::from);
                if let Some(at) = at.filter(|at| *at <= before && after.is_none_or(|after| *at > after)) {
                    offer(Reverse((at, round)));
                }
            }
            Ok(())
        };
        NewestFirst::new(None, scan).map(|round| round.map(|Reverse(round)| round))
    }

    /// Removes the archives of the months that ended before the limit.
    fn remove_months(&mut self) -> Result<Vec<String>> {
        let mut removed = Vec::new();
        let before = self.before;
        // While another process archives, its months stay. The next gc removes them.
        let writer = if self.dry_run { None } else { Writer::try_new(self.mailbox)? };
        if writer.is_none() && !self.dry_run {
            return Ok(removed);
        }
        for month in archive::months(self.mailbox)?.into_iter().filter(|month| month.end() <= before) {
            let files = [archive::index_file(self.mailbox, month), archive::file(self.mailbox, month)];
            if self.dry_run {
                files.iter().for_each(|file| self.tell_of(Fate::Removed, file));
            } else {
                // What the index does not name does not count. So the index goes first.
                files.iter().try_for_each(|file| disk::remove(file))?;
            }
            removed.push(month.to_string());
        }
        Ok(removed)
    }

    /// Prunes the workflows of these rounds.
    fn prune_all(&mut self, old: Vec<OldRound>) -> Result<()> {
        let mut waits_for_locks = true;
        for (workflow, rounds) in by_workflow(old) {
            let pruned = self.selected(&workflow, rounds, waits_for_locks).and_then(|selection| self.prune(&workflow, &selection));
            if let Err(e) = pruned {
                // Many workflows share a lock. If a process hangs while it holds one, the gc waits for it only once.
                waits_for_locks &= !self.mailbox.is_locked(&workflow)?;
                self.left(workflow.as_str(), &e);
            }
        }
        Ok(())
    }

    /// Selects the rounds of a workflow that may go: all of them if it is over, otherwise its old rounds that are not needed.
    pub(super) fn selected(&self, workflow: &WorkflowId, old: Vec<QuestionId>, waits_for_lock: bool) -> Result<Selection> {
        if !waits_for_lock && self.mailbox.is_locked(workflow)? {
            return Err(Error::failed("another process holds its lock", "the next gc takes it"));
        }
        let lock = self.mailbox.lock(workflow)?;
        self.select(&lock, &old.into_iter().collect())
    }

    fn prune(&mut self, workflow: &WorkflowId, selection: &Selection) -> Result<()> {
        if self.dry_run {
            self.report_only(workflow, selection);
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
        let checkpoint = self.mailbox.document(Folder::Checkpoints, workflow);
        let has_checkpoint = whole && disk::exists(&checkpoint);
        for question in selection.rounds.iter().chain(&selection.last) {
            let round = RoundId { workflow: workflow.clone(), question: *question };
            self.tell_of(Fate::Removed, &self.mailbox.round(Folder::Closed, &round));
        }
        if has_checkpoint {
            self.tell_of(Fate::Removed, &checkpoint);
        }
        self.tally.rounds += (selection.rounds.len() + usize::from(whole)) as u64;
        self.tally.workflows += u64::from(whole);
        self.tally.checkpoints += u64::from(has_checkpoint);
    }

    pub(super) fn tell_of(&mut self, fate: Fate, path: &std::path::Path) {
        let below = path.strip_prefix(self.mailbox.root()).unwrap_or(path);
        (self.tell)(fate, &below.display().to_string());
    }
}

/// The rounds of each workflow.
pub(super) fn by_workflow(old: Vec<OldRound>) -> BTreeMap<WorkflowId, Vec<QuestionId>> {
    let mut found: BTreeMap<WorkflowId, Vec<QuestionId>> = BTreeMap::new();
    for (_, round) in old {
        found.entry(round.workflow).or_default().push(round.question);
    }
    found
}
