//! Every workflow that the mailbox knows of, the newest first. One scan reads names and times, no document.
//!
//! *Newest* means: what was asked, claimed or closed last, by the times of the workflow's files in `runs/`, `pending/` and `answered/`. A
//! workflow with nothing but its record counts from the record's last change.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::disk;
use crate::error::{IoContext, Result};
use crate::id::WorkflowId;
use crate::mailbox::layout::{Folder, Mailbox};
use crate::mailbox::listing::list;
use crate::mailbox::listing::newest_first::NewestFirst;
use crate::mailbox::quarantine::quarantined_round;

/// A time as the kernel has it: seconds and nanoseconds.
type Stamp = (i64, i64);

/// The workflows.
pub fn newest_first(mailbox: &Mailbox) -> impl Iterator<Item = Result<WorkflowId>> + '_ {
    let found = NewestFirst::new(None, |offer: &mut dyn FnMut((Stamp, WorkflowId))| {
        let mut offer = |workflow: WorkflowId| offer((changed(mailbox, &workflow), workflow));
        let runs = mailbox.folder(Folder::Runs);
        match disk::entries(&runs) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
            other => {
                for entry in other.io("read", &runs)? {
                    let name = entry.io("read", &runs)?.name;
                    name.to_str().and_then(|name| name.parse().ok()).into_iter().for_each(&mut offer);
                }
            }
        }
        // The same workflow has the same key: it comes once, however often it is offered.
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
