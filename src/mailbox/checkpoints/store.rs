//! Reads, saves and removes checkpoints. A workflow's own checkpoint is `checkpoints/WORKFLOW.json`; a question may name a file
//! anywhere else.

use std::path::{Path, PathBuf};

use crate::disk;
use crate::document::Document;
use crate::error::{Error, Result};
use crate::id::WorkflowId;
use crate::mailbox::documents::checkpoint::{self, CheckpointDocument, MAX_CHECKPOINT};
use crate::mailbox::layout::{Folder, Mailbox};

/// Reads a checkpoint file.
pub fn read(path: &Path) -> Result<CheckpointDocument> {
    Document::parse(&disk::read(path, MAX_CHECKPOINT)?).map_err(|e| e.in_file(path))
}

/// Reads a checkpoint file and refuses one that names another workflow.
pub fn read_for(path: &Path, workflow: &WorkflowId) -> Result<CheckpointDocument> {
    parse_for(path, &disk::read(path, MAX_CHECKPOINT)?, workflow)
}

pub(super) fn parse_for(path: &Path, bytes: &[u8], workflow: &WorkflowId) -> Result<CheckpointDocument> {
    let document = CheckpointDocument::parse(bytes).map_err(|e| e.in_file(path))?;
    match &document.typed.workflow_id {
        Some(other) if other != workflow => {
            Err(Error::invalid("workflow_id", format!("is `{other}`, not `{workflow}`"), "name the checkpoint of this workflow")
                .in_file(path))
        }
        _ => Ok(document),
    }
}

/// The path of a workflow's own checkpoint.
#[must_use]
pub fn path(mailbox: &Mailbox, workflow: &WorkflowId) -> PathBuf {
    mailbox.document(Folder::Checkpoints, workflow)
}

/// Reads a workflow's own checkpoint.
///
/// # Errors
/// [`Error::NotFound`] if there is none.
pub fn load(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<CheckpointDocument> {
    read_for(&path(mailbox, workflow), workflow).map_err(|e| if e.is_missing_file() { missing(workflow) } else { e })
}

fn missing(workflow: &WorkflowId) -> Error {
    Error::not_found(
        format!("{workflow} has no checkpoint"),
        format!("save one: checkpoint save {workflow} < FILE, or see: checkpoint list"),
    )
}

/// Replaces a workflow's own checkpoint, durably. Returns its path.
pub fn save(mailbox: &Mailbox, workflow: &WorkflowId, json: &[u8]) -> Result<PathBuf> {
    if json.len() as u64 > MAX_CHECKPOINT {
        return Err(Error::invalid(
            "file",
            format!("is {} bytes long, the limit is {MAX_CHECKPOINT}", json.len()),
            "keep bulk in files and name them under `files`",
        ));
    }
    let mut document = CheckpointDocument::parse(json)?;
    match &document.typed.workflow_id {
        Some(other) if other != workflow => {
            return Err(Error::invalid("workflow_id", format!("is `{other}`, not `{workflow}`"), "leave it out, or save under that id"));
        }
        _ => document.typed.workflow_id = Some(workflow.clone()),
    }
    checkpoint::check(&document.typed)?;
    document.typed.schema_version = Some(crate::document::SCHEMA_VERSION);
    document.update()?;
    let _lock = mailbox.lock(workflow)?;
    let path = path(mailbox, workflow);
    disk::replace(&path, &document.to_bytes())?;
    Ok(path)
}

/// Changes a workflow's own checkpoint under the workflow's lock.
pub(super) fn update(mailbox: &Mailbox, workflow: &WorkflowId, change: impl FnOnce(&mut CheckpointDocument) -> Result<()>) -> Result<()> {
    let _lock = mailbox.lock(workflow)?;
    let mut document = load(mailbox, workflow)?;
    change(&mut document)?;
    // The change may have set any field to any value, so the result is parsed and checked again.
    let bytes = document.to_bytes();
    checkpoint::check(&CheckpointDocument::parse(&bytes)?.typed)?;
    disk::replace(&path(mailbox, workflow), &bytes)
}

/// Removes a workflow's own checkpoint.
///
/// # Errors
/// [`Error::NotFound`] if there is none.
pub fn remove(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<()> {
    let _lock = mailbox.lock(workflow)?;
    let path = path(mailbox, workflow);
    if !disk::exists(&path) {
        return Err(missing(workflow));
    }
    disk::remove(&path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_workflows_checkpoint_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let mailbox = Mailbox::open_or_create(folder.path().join("m")).unwrap();
        let id = "w".parse().unwrap();
        assert!(save(&mailbox, &id, br#"{"workflow_id":"other"}"#).is_err());
        assert_eq!(load(&mailbox, &id).unwrap_err().exit_code(), 3);
    }
}
