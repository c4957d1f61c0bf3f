//! A look at everything. It finds every change, also one without a file event.

use std::collections::HashSet;

use crate::disk;
use crate::error::Result;
use crate::id::WorkflowId;
use crate::log;
use crate::mailbox::Folder;
use crate::mailbox::due::timers::Timer;
use crate::mailbox::family::lineage;
use crate::mailbox::listing::list;
use crate::watch::look::parents;
use crate::watch::scope::Scope;
use crate::watch::watcher::Watcher;

impl Watcher<'_> {
    /// Looks at every folder. `first`: the questions in `pending/` are read later, by the sweep. `thorough`: files whose names are known
    /// are checked for changes too. Whatever cannot be read is looked at again the next time.
    pub(super) fn look_at_everything(&mut self, first: bool, thorough: bool) {
        self.dates.put_off_look_around();
        let looked = match self.served.scope.clone() {
            Scope::Mailbox => self.look_at_folders(first, thorough),
            Scope::Tree(root) => self.look_at_tree(&root),
        };
        if let Err(e) = looked {
            log::error(&e);
        }
    }

    fn look_at_folders(&mut self, first: bool, thorough: bool) -> Result<()> {
        // Timers come first: the steps below add to them.
        self.dates.set_timers(list::names(&self.served.mailbox, Folder::Timers)?.iter().filter_map(|n| Timer::from_file_name(n)));
        self.events.keep_only(&self.dates.rounds_with_event());
        for round in list::round_names(&self.served.mailbox, Folder::Running) {
            self.launches.recover_unless_live(&self.served, &mut self.dates, &round);
        }
        self.launches.end_dead_probe();
        for workflow in list::workflows(&self.served.mailbox, Folder::Answered)? {
            self.launches.enqueue(&self.served, &workflow);
        }
        parents::wake_all(&self.served, &mut self.dates, &mut self.launches)?;
        let pending = list::all_names(&self.served.mailbox, Folder::Pending)?;
        if first {
            self.questions.begin_sweep(pending);
        } else {
            self.questions.read_new(&self.served, &mut self.dates, &self.news, pending, thorough);
        }
        Ok(())
    }

    /// Looks at every member of a tree, for a watcher that serves no other. The cost grows with the tree, not with the mailbox.
    fn look_at_tree(&mut self, root: &WorkflowId) -> Result<()> {
        let members: HashSet<WorkflowId> = lineage::members(&self.served.mailbox, root)?.into_iter().collect();
        for round in list::round_names(&self.served.mailbox, Folder::Running).filter(|round| members.contains(&round.workflow)) {
            self.launches.recover_unless_live(&self.served, &mut self.dates, &round);
        }
        self.launches.end_dead_probe();
        for member in members {
            if disk::exists(self.served.mailbox.document(Folder::Pending, &member)) {
                self.questions.read(&self.served, &mut self.dates, &self.news, member.file_name().as_ref(), false);
            }
            if disk::exists(self.served.mailbox.document(Folder::Answered, &member)) {
                self.launches.enqueue(&self.served, &member);
            }
            self.parents.note_changed(member);
        }
        self.parents.wake_changed(&self.served, &mut self.dates, &mut self.launches);
        Ok(())
    }
}
