//! The names of a workflow's children: empty files `runs/PARENT/children/CHILD`. By them a tree is found from its own members,
//! whatever else lies in the mailbox.
//!
//! The name is a hint: the child's own documents say whose child it is. It is never missing where it counts: it is durable before the
//! child's record names the parent. Only a question that has never been claimed may lack it, after a power cut or because it was written
//! by hand; then a watcher that reads the question makes it. In a mailbox from before these names, the first program that needs them
//! makes all of them: see [`crate::mailbox::family::lineage`].

use std::path::PathBuf;

use crate::disk;
use crate::error::Result;
use crate::id::WorkflowId;
use crate::mailbox::documents::question::Question;
use crate::mailbox::layout::{Folder, Mailbox};

/// The folder in `runs/PARENT` that holds the names.
pub const CHILDREN: &str = "children";

/// How often a name is tried: `askbox gc` may remove the empty folder at any moment.
const TRIES: usize = 100;

fn folder(mailbox: &Mailbox, parent: &WorkflowId) -> PathBuf {
    mailbox.runs_of_workflow(parent).join(CHILDREN)
}

/// Whether the child is among its parent's names.
#[must_use]
pub fn is_noted(mailbox: &Mailbox, parent: &WorkflowId, child: &WorkflowId) -> bool {
    disk::exists(folder(mailbox, parent).join(child.as_str()))
}

/// Adds a child to its parent's names, without a sync.
pub fn note(mailbox: &Mailbox, parent: &WorkflowId, child: &WorkflowId) -> Result<()> {
    let folder = folder(mailbox, parent);
    let mut tries = 0;
    loop {
        tries += 1;
        match disk::touch_folder(&folder).and_then(|()| disk::touch(&folder.join(child.as_str()))) {
            Err(e) if e.is_missing_file() && tries < TRIES => {}
            other => return other,
        }
    }
}

/// [`note`] for the parent that an open question names.
pub fn note_asker(mailbox: &Mailbox, question: &Question) -> Result<()> {
    let parent = question.parent.as_ref().filter(|parent| !is_noted(mailbox, parent, &question.workflow_id));
    parent.map_or(Ok(()), |parent| note(mailbox, parent, &question.workflow_id))
}

/// [`note`], durably. Call it before the child's record names the parent.
pub fn note_durably(mailbox: &Mailbox, parent: &WorkflowId, child: &WorkflowId) -> Result<()> {
    note(mailbox, parent, child)?;
    disk::sync_names_up_to(&folder(mailbox, parent), &mailbox.folder(Folder::Runs))
}

/// Removes a child from its parent's names. The folders go with the last child of a parent of which nothing else is left.
pub fn forget(mailbox: &Mailbox, parent: &WorkflowId, child: &WorkflowId) -> Result<()> {
    let folder = folder(mailbox, parent);
    disk::untouch(&folder.join(child.as_str()))?;
    disk::remove_folder_if_empty(&folder);
    if !disk::exists(mailbox.document(Folder::Workflows, parent)) {
        disk::remove_folder_if_empty(&mailbox.runs_of_workflow(parent));
    }
    Ok(())
}

/// The names of a parent's children.
#[must_use]
pub fn noted(mailbox: &Mailbox, parent: &WorkflowId) -> Vec<WorkflowId> {
    let entries = disk::entries(&folder(mailbox, parent)).ok();
    entries.into_iter().flatten().flatten().filter_map(|e| e.name.to_str()?.parse().ok()).collect()
}
