//! The workflows that are not over, and those that they need.

use std::collections::BTreeSet;
use std::path::Path;

use crate::delivery;
use askbox_mailbox::transitions::settle;
use askbox_mailbox::{Folder, Mailbox, Result, RoundId, WorkflowId, awaits, disk, lineage, list, quarantined_round, read_question};

/// The workflows that were not over when the gc began.
#[derive(Debug, Default)]
pub(super) struct OpenWorkflows {
    /// They have a round that is not closed, are awaited, or wait for another workflow.
    workflows: BTreeSet<WorkflowId>,
    /// Their ancestors: an answer may have to resume the session of one.
    above: BTreeSet<WorkflowId>,
    /// The rounds that their questions were asked in. The records of these runs are the proof.
    asked_in: BTreeSet<RoundId>,
}

impl OpenWorkflows {
    pub(super) fn read(mailbox: &Mailbox) -> Result<Self> {
        let (mut workflows, mut parents, mut asked_in) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        let mut add = |path: &Path| {
            let Ok(document) = read_question::document(path) else { return };
            parents.extend(document.typed.parent);
            asked_in.extend(document.typed.asked_in.map(|asked| asked.run.round));
        };
        for folder in [Folder::Pending, Folder::Answered] {
            for workflow in list::workflows(mailbox, folder)? {
                add(&mailbox.document(folder, &workflow));
                workflows.insert(workflow);
            }
        }
        for folder in [Folder::Running, Folder::Parked] {
            for round in list::round_names(mailbox, folder) {
                add(&mailbox.round(folder, &round));
                workflows.insert(round.workflow);
            }
        }
        workflows.extend(quarantined_round::all(mailbox)?.into_iter().map(|held| held.workflow));
        // Questions that are being retired, or whose retirement a crash interrupted.
        let retired = list::hidden_names(mailbox, Folder::Pending)?;
        workflows.extend(retired.iter().filter_map(|name| Some(settle::retired_round(name)?.workflow)));
        for parent in awaits::parents(mailbox)? {
            workflows.extend(awaits::of_parent(mailbox, &parent)?.into_iter().map(|w| w.typed.child));
            workflows.insert(parent);
        }
        let mut above = BTreeSet::new();
        for workflow in workflows.iter().chain(&parents) {
            // If a record cannot be read, its ancestors are unknown.
            above.extend(lineage::ancestors(mailbox, workflow).unwrap_or_default());
        }
        above.extend(parents);
        Ok(Self { workflows, above, asked_in })
    }

    /// True if an open question was asked in a run of this round.
    pub(super) fn was_asked_in(&self, round: &RoundId) -> bool {
        self.asked_in.contains(round)
    }

    /// True if a workflow, an ancestor of it or a descendant of it was not over when the gc began.
    pub(super) fn concerns(&self, mailbox: &Mailbox, workflow: &WorkflowId) -> Result<bool> {
        if self.workflows.contains(workflow) || self.above.contains(workflow) {
            return Ok(true);
        }
        Ok(lineage::ancestors(mailbox, workflow)?.iter().any(|a| self.workflows.contains(a)))
    }
}

/// True if a workflow is not over now. The caller holds its lock.
pub(super) fn is_open(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<bool> {
    let there = |folder| disk::exists(mailbox.document(folder, workflow));
    if there(Folder::Pending) || there(Folder::Answered) {
        return Ok(true);
    }
    if quarantined_round::of_workflow(mailbox, workflow)?.is_some() {
        return Ok(true);
    }
    let claimed = |round: &RoundId| [Folder::Running, Folder::Parked].iter().any(|f| disk::exists(mailbox.round(*f, round)));
    if list::rounds_of(mailbox, workflow).any(|round| claimed(&round)) || !awaits::of_parent(mailbox, workflow)?.is_empty() {
        return Ok(true);
    }
    delivery::is_awaited(mailbox, workflow)
}
