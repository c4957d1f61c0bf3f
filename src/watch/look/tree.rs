//! A look at one tree, for a watcher that serves no other. Its cost grows with the tree, not with the mailbox.

use std::collections::HashSet;

use crate::disk;
use crate::error::Result;
use crate::id::{RoundId, WorkflowId};
use crate::mailbox::due::timers::{self, Due};
use crate::mailbox::family::lineage;
use crate::mailbox::listing::list;
use crate::mailbox::{Folder, QuestionDocument};
use crate::watch::watcher::Watcher;

impl Watcher<'_> {
    /// Looks at every member of a tree.
    pub(in crate::watch) fn look_at_tree(&mut self, root: &WorkflowId) -> Result<()> {
        let members: HashSet<WorkflowId> = lineage::members(&self.mailbox, root)?.into_iter().collect();
        for round in list::round_names(&self.mailbox, Folder::Running).filter(|round| members.contains(&round.workflow)) {
            if !self.live.contains(&round) {
                self.recover(&round);
            }
        }
        self.gate.end_dead_probe();
        for member in members {
            if disk::exists(self.mailbox.document(Folder::Pending, &member)) {
                self.read_question(member.file_name().as_ref(), false);
            }
            if disk::exists(self.mailbox.document(Folder::Answered, &member)) {
                self.enqueue(&member);
            }
            self.changed.insert(member);
        }
        self.wake_parents_of_changed();
        Ok(())
    }

    /// A watcher of one tree reads no names in `timers/`, where the dates of all workflows are: it takes a question's expiry from the
    /// question, as long as the expiry's file is there. A retry's date comes with its run. Reminders are the service's.
    pub(super) fn note_expiry(&mut self, document: &QuestionDocument, round: &RoundId) {
        if self.scope.is_service() {
            return;
        }
        let question = &document.typed;
        for timer in timers::of_question(question, round, timers::asked(&self.mailbox, question), crate::time::now()) {
            if timer.due == Due::Expire && disk::exists(self.mailbox.folder(Folder::Timers).join(timer.file_name())) {
                self.timers.insert(timer);
            }
        }
    }
}
