//! The removal itself. Each step leaves a state that is one of somebody's: the round is there, or it is not.

use crate::disk::{self, Lock, TEMPORARY_PREFIX};
use crate::error::{Error, Result};
use crate::gc::{Gc, gone, named, open};
use crate::id::{QuestionId, RoundId, WorkflowId};
use crate::mailbox::{Folder, WorkflowLock, list};
use crate::run::claim;
use crate::run::money::costs;

/// What askbox keeps of an attempt.
const OF_AN_ATTEMPT: [&str; 7] = ["run.json", "events.jsonl", "stderr.log", "supervisor.log", "answer.txt", "stop.json", "control"];

/// What askbox keeps in `runs/W/Q`.
fn of_a_round(depth: usize, name: &str, is_folder: bool) -> bool {
    match depth {
        0 if is_folder => name.parse::<u32>().is_ok(),
        _ if is_folder => false,
        0 => name == "lock" || name.starts_with(TEMPORARY_PREFIX),
        _ => OF_AN_ATTEMPT.contains(&name) || name.starts_with(TEMPORARY_PREFIX),
    }
}

impl Gc<'_> {
    /// Some rounds, under the workflow's lock, of a workflow that goes on or does not.
    pub(super) fn remove_rounds(&mut self, lock: &WorkflowLock, questions: &[QuestionId], goes_on: bool) -> Result<()> {
        let named = named(self.mailbox, lock.workflow())?;
        let round = |question: &QuestionId| RoundId { workflow: lock.workflow().clone(), question: *question };
        // What has been changed since, or is gone, is not ours to judge any more.
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
            return Err(Error::conflict("its run is live still", "the next gc takes it"));
        };
        let aside = gone(self.mailbox, Folder::Closed, &round.file_name());
        disk::untouch(&aside)?;
        if !disk::set_aside(&self.mailbox.round(Folder::Closed, round), &aside)? {
            return Ok(());
        }
        self.report.rounds += 1;
        self.remove_runs(lock, round)
    }

    /// The rest of a round that is gone.
    pub(super) fn remove_runs(&mut self, lock: &WorkflowLock, round: &RoundId) -> Result<()> {
        let removed = disk::remove_known(&self.mailbox.runs_of(round), &of_a_round)?;
        *self.report.bytes.get_or_insert_default() += removed.bytes;
        self.tidy(lock)?;
        disk::untouch(&gone(self.mailbox, Folder::Closed, &round.file_name()))
    }

    /// `runs/W`, once nothing is left in it.
    fn tidy(&self, lock: &WorkflowLock) -> Result<()> {
        let workflow = lock.workflow();
        if list::rounds_of(self.mailbox, workflow).next().is_some()
            || self.mailbox.document(Folder::Workflows, workflow).symlink_metadata().is_ok()
            || open::is_open(self.mailbox, workflow)?
        {
            return Ok(());
        }
        // Whoever begins to wait meanwhile sees that the file is not the one he locked.
        let waiter = claim::waiter_path(self.mailbox, workflow);
        let held = if waiter.symlink_metadata().is_ok() { Lock::try_acquire(&waiter)? } else { None };
        let known = |depth: usize, name: &str, is_folder: bool| {
            depth == 0 && !is_folder && (name == "result.txt" || (name == "waiter" && held.is_some()))
        };
        disk::remove_known(&self.mailbox.runs_of_workflow(workflow), &known).map(drop)
    }

    /// What is left of a workflow that is over: its checkpoint, its record, and its newest round.
    pub(super) fn remove_workflow(&mut self, workflow: &WorkflowId, last: QuestionId) -> Result<()> {
        let lock = self.mailbox.lock(workflow)?;
        let is_last = list::rounds_of(self.mailbox, workflow).all(|r| r.question == last);
        let round = RoundId { workflow: workflow.clone(), question: last };
        let is_old = !self.has_young_checkpoint(workflow) && self.is_old(&self.mailbox.round(Folder::Closed, &round));
        if !is_last || !is_old || open::is_open(self.mailbox, workflow)? {
            return Ok(());
        }
        if self.hold(&round)?.is_none() {
            return Err(Error::conflict("its run is live still", "the next gc takes it"));
        }
        let mut aside = Vec::new();
        for folder in [Folder::Checkpoints, Folder::Workflows] {
            let (path, to) = (self.mailbox.document(folder, workflow), gone(self.mailbox, folder, &workflow.file_name()));
            if disk::set_aside(&path, &to)? {
                aside.push((folder, path, to));
            }
        }
        // A post takes no lock: one that came since we looked finds everything as it was.
        if open::is_open(self.mailbox, workflow)? {
            return aside.iter().try_for_each(|(_, path, to)| disk::set_aside(to, path).map(drop));
        }
        for (folder, _, to) in &aside {
            disk::untouch(to)?;
            self.report.checkpoints += u64::from(*folder == Folder::Checkpoints);
        }
        self.remove_round(&lock, &round)?;
        self.report.workflows += 1;
        Ok(())
    }
}
