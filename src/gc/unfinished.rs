//! Completes what an interrupted gc left.

use crate::disk;
use crate::error::Result;
use crate::gc::pass::{GONE, Gc};
use crate::id::{RoundId, WorkflowId};
use crate::mailbox::Folder;
use crate::mailbox::listing::list;

impl Gc<'_> {
    /// Removes the rest of rounds that were renamed, and gives records and checkpoints of workflows their names back: this gc judges
    /// them anew.
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
