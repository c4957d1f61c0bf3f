//! The course of a gc: finds the old rounds, and prunes one workflow after the other.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use crate::archive::{self, ArchivedRound};
use crate::gc::open_workflows::OpenWorkflows;
use crate::gc::pass::{Archived, Fate, Gc, Policy, Report, Tally, changed};
use crate::gc::round_files::RoundFiles;
use crate::gc::select::Selection;
use askbox_mailbox::audit::{self, Entry};
use askbox_mailbox::listing::newest_first::NewestFirst;
use askbox_mailbox::{Error, Folder, Mailbox, QuestionId, Result, RoundId, Span, Time, WorkflowId, disk, list, read_question};

/// The most rounds that are removed under one hold of their workflow's lock, because other processes may be waiting for it.
const AT_ONCE: usize = 50;

/// About how many rounds are archived before they are removed.
const TOGETHER: usize = 1 << 10;

/// The most rounds that are in memory at once.
const IN_MEMORY: usize = 1 << 16;

/// A round whose file is old, and the time of that file.
type OldRound = (Time, RoundId);

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
        fate: Fate::Removed,
        by,
        archived: HashMap::new(),
        archive_bytes: 0,
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
        gc.prune_archive()?;
        gc.prune_all(None)?;
    }
    report.removed = std::mem::take(&mut gc.tally);
    let Tally { rounds, workflows, checkpoints, .. } = report.removed;
    if !policy.dry_run && rounds > 0 {
        let why = format!("{rounds} rounds, {workflows} workflows, {checkpoints} checkpoints");
        audit::record(mailbox, Entry::about("pruned").by(by).why(why));
    }
    if let Some(age) = policy.archive {
        // A dry run has not removed the rounds that go for good.
        let after = policy.keep.filter(|_| policy.dry_run).map(|_| gc.before);
        gc.set_age(age);
        gc.fate = Fate::Archived;
        gc.tally.bytes = Some(0);
        gc.prune_all(after)?;
        if !policy.dry_run {
            gc.archive_bytes += gc.archive_logs()?;
        }
        let archive_bytes = (!policy.dry_run).then_some(gc.archive_bytes);
        report.archived = Some(Archived { after: Span(age), tally: std::mem::take(&mut gc.tally), archive_bytes });
    }
    report.left = gc.left;
    Ok(report)
}

impl Gc<'_> {
    /// The closed rounds whose files are old, the oldest first: those that changed after `after`, if that is given. Reads names and times
    /// only.
    fn old_rounds(&self, after: Option<Time>) -> impl Iterator<Item = Result<OldRound>> + use<> {
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

    /// Removes the archived rounds that ended before the limit.
    fn prune_archive(&mut self) -> Result<()> {
        let (mailbox, last) = (self.mailbox, archive::month_of(self.before));
        for month in archive::months(mailbox)?.into_iter().filter(|month| *month <= last) {
            for round in archive::rounds_of(mailbox, &month, None)? {
                let path = Some(round?).filter(|round| round.closed <= self.before).map(|round| round.path(mailbox));
                let Some(path) = path else { continue };
                self.tally.rounds += 1;
                if self.dry_run {
                    self.tell_of(&path);
                } else {
                    *self.tally.bytes.get_or_insert_default() += disk::metadata(&path).map_or(0, |meta| meta.len());
                    disk::untouch(&path)?;
                }
            }
            if !self.dry_run {
                disk::remove_folder_if_empty(&archive::folder(mailbox).join(month));
            }
        }
        Ok(())
    }

    /// Prunes the workflows of the old rounds, a portion of the rounds at a time. See [`Gc::old_rounds`].
    fn prune_all(&mut self, after: Option<Time>) -> Result<()> {
        let mut old = self.old_rounds(after);
        loop {
            let rounds = old.by_ref().take(IN_MEMORY).collect::<Result<Vec<_>>>()?;
            if rounds.is_empty() {
                return Ok(());
            }
            let (mut chosen, mut count, mut waits_for_locks) = (Vec::new(), 0, true);
            for (workflow, rounds) in by_workflow(rounds) {
                match self.selected(&workflow, rounds, waits_for_locks) {
                    Ok(selection) => {
                        count += selection.rounds.len();
                        chosen.push((workflow, selection));
                    }
                    Err(e) => {
                        // Many workflows share a lock. If a process hangs while it holds one, the gc waits for it only once.
                        waits_for_locks &= !self.mailbox.is_locked(&workflow)?;
                        self.left(workflow.as_str(), &e);
                    }
                }
                if count >= TOGETHER {
                    self.prune_chosen(std::mem::take(&mut chosen))?;
                    count = 0;
                }
            }
            self.prune_chosen(chosen)?;
        }
    }

    fn prune_chosen(&mut self, chosen: Vec<(WorkflowId, Selection)>) -> Result<()> {
        if self.fate == Fate::Archived && !self.dry_run {
            self.archive_rounds(&chosen)?;
        }
        for (workflow, selection) in chosen {
            if let Err(e) = self.prune(&workflow, &selection) {
                self.left(workflow.as_str(), &e);
            }
        }
        self.archived.clear();
        Ok(())
    }

    /// Writes rounds into the archive, durably. Those that cannot be archived stay.
    fn archive_rounds(&mut self, chosen: &[(WorkflowId, Selection)]) -> Result<()> {
        for (workflow, selection) in chosen {
            for question in selection.rounds.iter().chain(&selection.last) {
                let round = RoundId { workflow: workflow.clone(), question: *question };
                match self.archive_round(&round, selection.last == Some(*question)) {
                    // Another gc was quicker.
                    Err(e) if e.is_missing_file() => {}
                    Err(e) => self.left(&round.to_string(), &e),
                    Ok(files) => _ = self.archived.insert(round, files),
                }
            }
        }
        if self.archived.is_empty() {
            return Ok(());
        }
        // One sync for all of them.
        disk::sync_filesystem(&archive::folder(self.mailbox))?;
        let entries: Vec<Entry> = self.archived.keys().map(|round| Entry::about_round("archived", round).by(self.by)).collect();
        audit::record_all(self.mailbox, &entries);
        Ok(())
    }

    /// Writes a round into the archive. Returns its files.
    fn archive_round(&mut self, round: &RoundId, is_whole_workflow: bool) -> Result<RoundFiles> {
        let _lock = self.mailbox.lock(&round.workflow)?;
        let question = read_question::of_round(&self.mailbox.round(Folder::Closed, round), round)?.typed;
        let closed = question.closed.ok_or_else(|| Error::conflict("it is not closed", "the next gc takes it"))?;
        let Some(_held) = self.hold(round)? else { return Err(Error::conflict("its run is still live", "the next gc takes it")) };
        let files = RoundFiles::of(self.mailbox, round, is_whole_workflow)?;
        self.archive_bytes += archive::write(self.mailbox, &ArchivedRound::new(round, closed.at), &files.names())?;
        Ok(files)
    }

    /// Selects the rounds of a workflow that may go: all of them if it is over, otherwise its old rounds that are not needed.
    fn selected(&self, workflow: &WorkflowId, old: Vec<QuestionId>, waits_for_lock: bool) -> Result<Selection> {
        if !waits_for_lock && self.mailbox.is_locked(workflow)? {
            return Err(Error::failed("another process holds its lock", "the next gc takes it"));
        }
        let lock = self.mailbox.lock(workflow)?;
        self.select(&lock, &old.into_iter().collect())
    }

    fn prune(&mut self, workflow: &WorkflowId, selection: &Selection) -> Result<()> {
        if self.dry_run {
            return self.report_only(workflow, selection);
        }
        for some in selection.rounds.chunks(AT_ONCE) {
            let lock = self.mailbox.lock(workflow)?;
            self.remove_rounds(&lock, some, selection.last.is_none())?;
        }
        selection.last.map_or(Ok(()), |last| self.remove_workflow(workflow, last))
    }

    /// Reports the rounds that would go.
    fn report_only(&mut self, workflow: &WorkflowId, selection: &Selection) -> Result<()> {
        let checkpoint = self.mailbox.document(Folder::Checkpoints, workflow);
        let has_checkpoint = selection.last.is_some() && disk::exists(&checkpoint);
        for question in selection.rounds.iter().chain(&selection.last) {
            let round = RoundId { workflow: workflow.clone(), question: *question };
            self.tell_of(&self.mailbox.round(Folder::Closed, &round));
            if self.fate == Fate::Archived {
                let is_last = selection.last == Some(*question);
                *self.tally.bytes.get_or_insert_default() += RoundFiles::of(self.mailbox, &round, is_last)?.space();
            }
            self.tally.rounds += 1;
        }
        if has_checkpoint {
            self.tell_of(&checkpoint);
        }
        self.tally.workflows += u64::from(selection.last.is_some());
        self.tally.checkpoints += u64::from(has_checkpoint);
        Ok(())
    }

    fn tell_of(&mut self, path: &Path) {
        let below = path.strip_prefix(self.mailbox.root()).unwrap_or(path);
        (self.tell)(self.fate, &below.display().to_string());
    }
}

/// The rounds of each workflow.
fn by_workflow(old: Vec<OldRound>) -> BTreeMap<WorkflowId, Vec<QuestionId>> {
    let mut found: BTreeMap<WorkflowId, Vec<QuestionId>> = BTreeMap::new();
    for (_, round) in old {
        found.entry(round.workflow).or_default().push(round.question);
    }
    found
}
