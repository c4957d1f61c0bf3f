//! The removal of rounds and workflows. After each step a round either is there or is not.

use std::collections::BTreeSet;

use crate::disk::{self, Lock, TEMPORARY_PREFIX};
use crate::error::{Error, Result};
use crate::gc::open;
use crate::gc::pass::{Gc, gone, named};
use crate::id::{QuestionId, RoundId, WorkflowId};
use crate::mailbox::family::{children, lineage};
use crate::mailbox::listing::list;
use crate::mailbox::{Folder, WorkflowLock, read_question};
use crate::run::approval::let_through;
use crate::run::attempt::used_answer::MARKS;
use crate::run::delivery;
use crate::run::money::costs;

/// The files of an attempt.
const OF_AN_ATTEMPT: [&str; 9] =
    ["run.json", "events.jsonl", "partial.jsonl", "stderr.log", "supervisor.log", "answer.txt", "handed_over", "stop.json", "control"];

/// Whether a name in `runs/W/Q` is one that askbox made. Other names are not removed.
fn of_a_round(depth: usize, name: &str, is_folder: bool) -> bool {
    match depth {
        0 if is_folder => name.parse::<u32>().is_ok(),
        _ if is_folder => false,
        0 => name == "lock" || MARKS.contains(&name) || name.starts_with(TEMPORARY_PREFIX),
        _ => OF_AN_ATTEMPT.contains(&name) || [let_through::PREFIX, TEMPORARY_PREFIX].iter().any(|begin| name.starts_with(begin)),
    }
}

impl Gc<'_> {
    /// Removes rounds of a workflow. `goes_on`: other rounds of it stay, so the cost of these is added to its record.
    pub(super) fn remove_rounds(&mut self, lock: &WorkflowLock, questions: &[QuestionId], goes_on: bool) -> Result<()> {
        let named = named(self.mailbox, lock.workflow())?;
        let round = |question: &QuestionId| RoundId { workflow: lock.workflow().clone(), question: *question };
        // A document that has changed since the selection stays.
        let still = |r: &RoundId| self.is_old(&self.mailbox.round(Folder::Closed, r)) && !named.contains(&r.question);
        let rounds: Vec<RoundId> = questions.iter().map(round).filter(still).collect();
        if goes_on {
            costs::carry(self.mailbox, lock, &rounds)?;
        }
        for round in rounds {
            if let Err(e) = self.remove_round(lock, &round) {
                self.left(&round.to_string(), &e);
            }
        }
        Ok(())
    }

    fn remove_round(&mut self, lock: &WorkflowLock, round: &RoundId) -> Result<()> {
        let Some(_held) = self.hold(round)? else {
            return Err(Error::conflict("its run is still live", "the next gc takes it"));
        };
        let aside = gone(self.mailbox, Folder::Closed, &round.file_name());
        disk::untouch(&aside)?;
        if !disk::set_aside(&self.mailbox.round(Folder::Closed, round), &aside)? {
            return Ok(());
        }
        self.report.rounds += 1;
        self.remove_runs(lock, round)
    }

    /// Steps 2 and 3 for a round that was renamed.
    pub(super) fn remove_runs(&mut self, lock: &WorkflowLock, round: &RoundId) -> Result<()> {
        let removed = disk::remove_known(&self.mailbox.runs_of(round), &of_a_round)?;
        *self.report.bytes.get_or_insert_default() += removed.bytes;
        self.tidy(lock)?;
        disk::untouch(&gone(self.mailbox, Folder::Closed, &round.file_name()))
    }

    /// Removes `runs/W` once nothing is left in it.
    fn tidy(&self, lock: &WorkflowLock) -> Result<()> {
        let workflow = lock.workflow();
        if list::rounds_of(self.mailbox, workflow).next().is_some()
            || disk::exists(self.mailbox.document(Folder::Workflows, workflow))
            || open::is_open(self.mailbox, workflow)?
        {
            return Ok(());
        }
        // A process that begins to wait meanwhile checks that the file of this name is still the one that it locked.
        let waiter = delivery::waiter_path(self.mailbox, workflow);
        let held = if disk::exists(&waiter) { Lock::try_acquire(&waiter)? } else { None };
        // Children that exist keep the folder: by their names they are found.
        let gone: BTreeSet<_> =
            children::noted(self.mailbox, workflow).into_iter().filter(|c| !lineage::kin(self.mailbox, c).is_known).collect();
        let known = |depth: usize, name: &str, is_folder: bool| match depth {
            0 if is_folder => name == children::CHILDREN,
            0 => name == "result.txt" || (name == "waiter" && held.is_some()),
            _ => !is_folder && name.parse().is_ok_and(|child: WorkflowId| gone.contains(&child)),
        };
        disk::remove_known(&self.mailbox.runs_of_workflow(workflow), &known).map(drop)
    }

    /// Removes the rest of a workflow that is over: its checkpoint, its record, and its newest round.
    pub(super) fn remove_workflow(&mut self, workflow: &WorkflowId, last: QuestionId) -> Result<()> {
        let lock = self.mailbox.lock(workflow)?;
        let is_last = list::rounds_of(self.mailbox, workflow).all(|r| r.question == last);
        let round = RoundId { workflow: workflow.clone(), question: last };
        let is_old = !self.has_young_checkpoint(workflow) && self.is_old(&self.mailbox.round(Folder::Closed, &round));
        if !is_last || !is_old || open::is_open(self.mailbox, workflow)? {
            return Ok(());
        }
        if self.hold(&round)?.is_none() {
            return Err(Error::conflict("its run is still live", "the next gc takes it"));
        }
        let kin = lineage::kin(self.mailbox, workflow);
        let mut aside = Vec::new();
        for folder in [Folder::Checkpoints, Folder::Workflows] {
            let (path, to) = (self.mailbox.document(folder, workflow), gone(self.mailbox, folder, &workflow.file_name()));
            if disk::set_aside(&path, &to)? {
                aside.push((folder, path, to));
            }
        }
        // A post takes no lock. If one came meanwhile, the record and the checkpoint get their names back.
        if open::is_open(self.mailbox, workflow)? {
            return aside.iter().try_for_each(|(_, path, to)| disk::set_aside(to, path).map(drop));
        }
        let document = read_question::document(&self.mailbox.round(Folder::Closed, &round)).ok();
        let parents: BTreeSet<_> = kin.parent.into_iter().chain(document.and_then(|d| d.typed.parent)).collect();
        for (folder, _, to) in &aside {
            disk::untouch(to)?;
            self.report.checkpoints += u64::from(*folder == Folder::Checkpoints);
        }
        parents.iter().try_for_each(|parent| children::forget(self.mailbox, parent, workflow))?;
        self.remove_round(&lock, &round)?;
        self.report.workflows += 1;
        Ok(())
    }
}
