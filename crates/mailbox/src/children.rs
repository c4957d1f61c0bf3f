//! The names of a workflow's children: empty files `runs/PARENT/children/CHILD`. They make it possible to find a tree from its own
//! members, however much else the mailbox holds.
//!
//! A name is only a hint: the documents of the child say who its parent is. A name is never missing where it matters, because it is
//! durable before the child's record names the parent. Only a question that was never claimed may lack the name, after a power cut
//! or because it was written by hand. A watcher that reads such a question makes the name. In a mailbox from before these names,
//! the first program that needs them makes all of them: see [`crate::family::lineage`].

use std::path::PathBuf;

use crate::{Folder, Mailbox, Question, Result, WorkflowId, disk};

/// The name of the folder in `runs/PARENT` that holds the names.
pub const CHILDREN: &str = "children";

/// How often [`note`] tries: `askbox gc` may remove the empty folder at any moment.
const TRIES: usize = 100;

fn folder(mailbox: &Mailbox, parent: &WorkflowId) -> PathBuf {
    mailbox.runs_of_workflow(parent).join(CHILDREN)
}

/// True if the child is among its parent's names.
pub fn is_noted(mailbox: &Mailbox, parent: &WorkflowId, child: &WorkflowId) -> bool {
    disk::exists(folder(mailbox, parent).join(child.as_str()))
}

/// Adds a child to its parent's names, without a sync.
///
/// # Errors
/// [`Error::Io`](crate::error::Error::Io) if the system refuses.
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

/// [`note`] for the parent that an open question names. Does nothing if the question names none.
///
/// # Errors
/// [`Error::Io`](crate::error::Error::Io) if the system refuses.
pub fn note_asker(mailbox: &Mailbox, question: &Question) -> Result<()> {
    let parent = question.parent.as_ref().filter(|parent| !is_noted(mailbox, parent, &question.workflow_id));
    parent.map_or(Ok(()), |parent| note(mailbox, parent, &question.workflow_id))
}

/// [`note`], durably. Call it before the child's record names the parent.
///
/// # Errors
/// [`Error::Io`](crate::error::Error::Io) if the system refuses.
pub fn note_durably(mailbox: &Mailbox, parent: &WorkflowId, child: &WorkflowId) -> Result<()> {
    note(mailbox, parent, child)?;
    disk::sync_names_up_to(&folder(mailbox, parent), &mailbox.folder(Folder::Runs))
}

/// Removes a child from its parent's names. With the last child it also removes the empty folder, and the empty folder in `runs/`
/// of a parent without a record.
///
/// # Errors
/// [`Error::Io`](crate::error::Error::Io) if the system refuses.
pub fn forget(mailbox: &Mailbox, parent: &WorkflowId, child: &WorkflowId) -> Result<()> {
    let folder = folder(mailbox, parent);
    disk::untouch(&folder.join(child.as_str()))?;
    disk::remove_folder_if_empty(&folder);
    if !disk::exists(mailbox.document(Folder::Workflows, parent)) {
        disk::remove_folder_if_empty(&mailbox.runs_of_workflow(parent));
    }
    Ok(())
}

/// Returns the names of a parent's children. Empty if the folder cannot be read.
pub fn noted(mailbox: &Mailbox, parent: &WorkflowId) -> Vec<WorkflowId> {
    let entries = disk::entries(&folder(mailbox, parent)).ok();
    entries.into_iter().flatten().flatten().filter_map(|e| e.name.to_str()?.parse().ok()).collect()
}
