//! The files of posts that were killed before their question was there. They belong to no round.

use crate::gc::pass::{Gc, named};
use askbox_mailbox::{Folder, IoContext, Result, RoundId, WorkflowId, attachments, disk, round};

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
