//! The removal of rounds and workflows. After each step, a round either exists or does not.
//!
//! The files of posts that were killed before their question was there. They belong to no round.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::gc::pass::{GONE, Gc, gone, named};
use crate::gc::{open_workflows, round_files};
use crate::money::used;
use askbox_mailbox::{
    Error, Folder, IoContext, Lock, QuestionId, Result, RoundId, WorkflowId, WorkflowLock, attachments, children, disk, lineage, list,
    read_question, recent_rounds, round,
};

impl Gc<'_> {
    /// Removes rounds of a workflow. `goes_on` is true if other rounds of it stay. The cost of the removed rounds is then added to its
    /// record.
    pub(super) fn remove_rounds(&mut self, lock: &WorkflowLock, questions: &[QuestionId], goes_on: bool) -> Result<()> {
        let named = named(self.mailbox, lock.workflow())?;
        let round = |question: &QuestionId| RoundId { workflow: lock.workflow().clone(), question: *question };
        // If a document has changed since the selection, it stays.
        let still = |r: &RoundId| self.is_old(&self.mailbox.round(Folder::Closed, r)) && !named.contains(&r.question);
        let rounds: Vec<RoundId> = questions.iter().map(round).filter(still).collect();
        disk::untouch(&used::times_path(self.mailbox, lock.workflow()))?;
        if goes_on {
            used::carry(self.mailbox, lock, &rounds)?;
        }
        for round in rounds {
            if let Err(e) = self.remove_round(lock, &round) {
                self.left(&round.to_string(), &e);
            }
        }
        Ok(())
    }

    fn remove_round(&mut self, lock: &WorkflowLock, round: &RoundId) -> Result<()> {
        let Some(_held) = self.hold(round)? else { return Err(Error::conflict("its run is still live", "the next gc takes it")) };
        if self.may_go(round, false)? { self.remove_held(lock, round) } else { Ok(()) }
    }

    fn remove_held(&mut self, lock: &WorkflowLock, round: &RoundId) -> Result<()> {
        let aside = gone(self.mailbox, Folder::Closed, &round.file_name());
        disk::untouch(&aside)?;
        if !disk::set_aside(&self.mailbox.round(Folder::Closed, round), &aside)? {
            return Ok(());
        }
        self.tally.rounds += 1;
        self.remove_runs(lock, round)
    }

    /// Steps 2 and 3 for a round that was renamed.
    fn remove_runs(&mut self, lock: &WorkflowLock, round: &RoundId) -> Result<()> {
        let removed = disk::remove_known(&self.mailbox.runs_of(round), &round_files::is_ours)?;
        let files = attachments::remove(self.mailbox, round)?;
        *self.tally.bytes.get_or_insert_default() += removed.bytes + files.bytes;
        self.tidy(lock)?;
        disk::untouch(&gone(self.mailbox, Folder::Closed, &round.file_name()))
    }

    /// Removes `runs/W` once nothing is left in it.
    fn tidy(&self, lock: &WorkflowLock) -> Result<()> {
        let workflow = lock.workflow();
        if list::rounds_of(self.mailbox, workflow).next().is_some()
            || disk::exists(self.mailbox.document(Folder::Workflows, workflow))
            || open_workflows::is_open(self.mailbox, workflow)?
        {
            return Ok(());
        }
        // If a process begins to wait at this moment, it checks that the file of this name is still the one that it locked.
        let waiter = self.mailbox.waiter(workflow);
        let held = if disk::exists(&waiter) { Lock::try_acquire(&waiter)? } else { None };
        // Children that exist keep the folder, because they are found by their names in it.
        let gone: BTreeSet<_> =
            children::noted(self.mailbox, workflow).into_iter().filter(|c| !lineage::kin(self.mailbox, c).is_known).collect();
        let known = |depth: usize, name: &str, is_folder: bool| match depth {
            0 if is_folder => name == children::CHILDREN,
            0 => matches!(name, "result.txt" | "acp.lock") || (name == "waiter" && held.is_some()),
            _ => !is_folder && name.parse().is_ok_and(|child: WorkflowId| gone.contains(&child)),
        };
        disk::untouch(&recent_rounds::path(self.mailbox, workflow))?;
        disk::untouch(&used::cost_path(self.mailbox, workflow))?;
        disk::untouch(&used::times_path(self.mailbox, workflow))?;
        disk::remove_known(&self.mailbox.runs_of_workflow(workflow), &known).map(drop)
    }

    /// Removes the rest of a workflow that is over: its checkpoint, its record, and its newest round.
    pub(super) fn remove_workflow(&mut self, workflow: &WorkflowId, last: QuestionId) -> Result<()> {
        let lock = self.mailbox.lock(workflow)?;
        let is_last = list::rounds_of(self.mailbox, workflow).all(|r| r.question == last);
        let round = RoundId { workflow: workflow.clone(), question: last };
        let is_old = !self.has_young_checkpoint(workflow) && self.is_old(&self.mailbox.round(Folder::Closed, &round));
        if !is_last || !is_old || open_workflows::is_open(self.mailbox, workflow)? {
            return Ok(());
        }
        if self.hold(&round)?.is_none() {
            return Err(Error::conflict("its run is still live", "the next gc takes it"));
        }
        if !self.may_go(&round, true)? {
            return Ok(());
        }
        let kin = lineage::kin(self.mailbox, workflow);
        let mut aside = Vec::new();
        for folder in [Folder::Checkpoints, Folder::Workflows] {
            let (path, to) = (self.mailbox.document(folder, workflow), gone(self.mailbox, folder, &workflow.file_name()));
            if disk::set_aside(&path, &to)? {
                aside.push((folder, path, to));
            }
        }
        // A post and a hand-made checkpoint take no lock. If one came in between, the record and the checkpoint get their names back.
        let is_other = |(_, path, to): &(Folder, PathBuf, PathBuf)| {
            self.archived.get(&round).is_some_and(|files| !files.hold_at(self.mailbox, path, to))
        };
        if open_workflows::is_open(self.mailbox, workflow)? || aside.iter().any(is_other) {
            return aside.iter().try_for_each(|(_, path, to)| disk::set_aside(to, path).map(drop));
        }
        let document = read_question::document(&self.mailbox.round(Folder::Closed, &round)).ok();
        let parents: BTreeSet<_> = kin.parent.into_iter().chain(document.and_then(|d| d.typed.parent)).collect();
        for (folder, _, to) in &aside {
            disk::untouch(to)?;
            self.tally.checkpoints += u64::from(*folder == Folder::Checkpoints);
        }
        parents.iter().try_for_each(|parent| children::forget(self.mailbox, parent, workflow))?;
        let Some(_held) = self.hold(&round)? else { return Ok(()) };
        self.remove_held(&lock, &round)?;
        self.tally.workflows += 1;
        Ok(())
    }
}

impl Gc<'_> {
    /// Removes the rest of rounds that were renamed. Gives records and checkpoints of workflows their names back, because this gc
    /// decides about them anew.
    pub(super) fn complete(&mut self) -> Result<()> {
        for folder in [Folder::Checkpoints, Folder::Workflows] {
            for name in list::hidden_names(self.mailbox, folder)? {
                let Some(workflow) = name.strip_prefix(GONE).and_then(WorkflowId::from_file_name) else { continue };
                let _lock = self.mailbox.lock(&workflow)?;
                let aside = self.mailbox.folder(folder).join(&name);
                if disk::exists(self.mailbox.document(folder, &workflow)) {
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
            if places.iter().any(|f| disk::exists(self.mailbox.round(*f, &round))) {
                // Another program brought the round back, so its runs stay.
                disk::untouch(&self.mailbox.folder(Folder::Closed).join(&name))?;
            } else if let Err(e) = self.remove_runs(&lock, &round) {
                self.left(&round.to_string(), &e);
            }
        }
        Ok(())
    }
}

impl Gc<'_> {
    /// Removes the attached files whose round does not exist, once they are old enough that no post is still writing them.
    pub(super) fn remove_abandoned_files(&mut self) -> Result<()> {
        for id in attachments::settled_rounds(self.mailbox)? {
            // Most rounds are found without their workflow's lock.
            if round::is_claimed_or_closed(self.mailbox, &id) {
                continue;
            }
            let _lock = self.mailbox.lock(&id.workflow)?;
            if self.may_have_files(&id)? {
                continue;
            }
            match attachments::remove(self.mailbox, &id) {
                Ok(removed) => *self.tally.bytes.get_or_insert_default() += removed.bytes,
                Err(e) => self.left(&id.to_string(), &e),
            }
        }
        Ok(())
    }

    /// True if a document of this round exists, or a document that cannot be read may be of this round.
    fn may_have_files(&self, id: &RoundId) -> Result<bool> {
        let waits = || named(self.mailbox, &id.workflow).map_or(true, |named| named.contains(&id.question));
        Ok(round::is_claimed_or_closed(self.mailbox, id) || waits() || self.is_in_quarantine(&id.workflow)?)
    }

    /// True if a file of this workflow lies in quarantine. A person may repair it.
    fn is_in_quarantine(&self, workflow: &WorkflowId) -> Result<bool> {
        let folder = self.mailbox.folder(Folder::Quarantine);
        let mut names = disk::entries(&folder).io("read", &folder)?;
        Ok(names.any(|entry| entry.map_or(true, |entry| entry.name.as_encoded_bytes().starts_with(workflow.as_str().as_bytes()))))
    }
}
