//! All workflows that the mailbox knows, the newest first. One scan reads names and times, no document.
//!
//! *Newest* means the workflow that asked, was claimed or was closed last, by the times of its files in `runs/`, `pending/` and
//! `answered/`. A workflow that has only a record counts from the record's last change.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::listing::newest_first::NewestFirst;
use crate::{Folder, IoContext, Mailbox, Result, WorkflowId, disk, list, quarantined_round};

/// A time as the kernel stores it: seconds and nanoseconds.
type Stamp = (i64, i64);

/// Returns all workflows, the newest first. An item is an error if a folder cannot be read.
pub fn newest_first(mailbox: &Mailbox) -> impl Iterator<Item = Result<WorkflowId>> + '_ {
    let found = NewestFirst::new(None, |offer: &mut dyn FnMut((Stamp, WorkflowId))| {
        let mut offer = |workflow: WorkflowId| offer((changed(mailbox, &workflow), workflow));
        let runs = mailbox.folder(Folder::Runs);
        for entry in disk::entries_if_there(&runs)?.into_iter().flatten() {
            let name = entry.io("read", &runs)?.name;
            name.to_str().and_then(|name| name.parse().ok()).into_iter().for_each(&mut offer);
        }
        // A workflow that is offered several times has the same key each time, so it is returned once.
        for folder in [Folder::Pending, Folder::Answered] {
            list::workflows(mailbox, folder)?.into_iter().for_each(&mut offer);
        }
        quarantined_round::all(mailbox)?.into_iter().map(|held| held.workflow).for_each(&mut offer);
        for workflow in list::each_workflow(mailbox, Folder::Workflows)? {
            let workflow = workflow?;
            if !disk::exists(mailbox.runs_of_workflow(&workflow)) {
                offer(workflow);
            }
        }
        Ok(())
    });
    found.map(|key| key.map(|(_, workflow)| workflow))
}

fn changed(mailbox: &Mailbox, workflow: &WorkflowId) -> Stamp {
    let rounds = list::rounds_of(mailbox, workflow).map(|round| mailbox.runs_of(&round));
    let open = [Folder::Pending, Folder::Answered].map(|folder| mailbox.document(folder, workflow));
    let newest = rounds.chain(open).filter_map(|path| stamp(&path)).max();
    newest.or_else(|| stamp(&mailbox.document(Folder::Workflows, workflow))).unwrap_or_default()
}

fn stamp(path: &Path) -> Option<Stamp> {
    disk::metadata(path).ok().map(|meta| (meta.mtime(), meta.mtime_nsec()))
}
