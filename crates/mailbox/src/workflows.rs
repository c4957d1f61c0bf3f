//! Reads and changes `workflows/WORKFLOW.json`, the record of a workflow.

use crate::documents::awaited::Workflow;
use crate::{Document, Folder, Mailbox, Result, WorkflowId, WorkflowLock, children, disk};

/// Reads a workflow's record. Returns `None` if the workflow never ran.
///
/// # Errors
/// [`Error::Invalid`](crate::error::Error::Invalid) if the file is not a workflow's record. [`Error::Io`](crate::error::Error::Io)
/// if the system refuses.
pub fn read(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<Option<Document<Workflow>>> {
    Document::read(&mailbox.document(Folder::Workflows, workflow))
}

/// Changes a workflow's record, or creates it, durably. Returns the changed record. If the record names a new parent, this workflow
/// is first added durably to the names of that parent's children.
///
/// # Errors
/// [`Error::Invalid`](crate::error::Error::Invalid) if the old file is not a workflow's record, or if the new record is too long.
/// [`Error::Io`](crate::error::Error::Io) if the system refuses.
pub fn update(mailbox: &Mailbox, lock: &WorkflowLock, change: impl FnOnce(&mut Workflow)) -> Result<Workflow> {
    let mut document = match read(mailbox, lock.workflow())? {
        Some(document) => document,
        None => Document::draft(Workflow {
            schema_version: Some(crate::document::SCHEMA_VERSION),
            workflow_id: lock.workflow().clone(),
            created: Some(crate::time::now()),
            ..Workflow::default()
        }),
    };
    let before = document.typed.clone();
    change(&mut document.typed);
    let path = mailbox.document(Folder::Workflows, lock.workflow());
    if let Some(parent) = document.typed.parent.as_ref().filter(|parent| before.parent.as_ref() != Some(*parent)) {
        children::note_durably(mailbox, parent, lock.workflow())?;
    }
    if before != document.typed || !disk::exists(&path) {
        document.update()?;
        disk::replace(&path, &document.to_file()?)?;
    }
    Ok(document.typed)
}
