//! Reads, saves and removes checkpoints. A workflow's own checkpoint is `checkpoints/WORKFLOW.json`; a question may name a file
//! anywhere else.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::disk;
use crate::document::{self, Document, Stored};
use crate::error::{Error, Result};
use crate::id::WorkflowId;
use crate::mailbox::documents::checkpoint::{self, Checkpoint, CheckpointDocument};
use crate::mailbox::layout::{Folder, Mailbox};
use crate::mailbox::read_question::modified;

/// The field in which a checkpoint says whose it is.
const PROOF: &str = "workflow_id";

/// Reads a checkpoint file.
pub fn read(path: &Path) -> Result<CheckpointDocument> {
    Document::parse(&disk::read(path, Checkpoint::LARGEST)?).map_err(|e| e.in_file(path))
}

/// Reads a file of `checkpoints/`, which by its place is this workflow's checkpoint. One that names another workflow is refused.
pub fn read_own(path: &Path, workflow: &WorkflowId) -> Result<CheckpointDocument> {
    let document = read(path)?;
    match &document.typed.workflow_id {
        Some(other) if other != workflow => Err(names_another(other, workflow).in_file(path)),
        _ => Ok(document),
    }
}

/// Reads the checkpoint that a question names.
///
/// # Security
/// A question may name any file. Outside of `checkpoints/` only a file that says itself that it is this workflow's checkpoint is used:
/// nothing of any other file's content leaves this function, not even in an error.
pub fn read_named(mailbox: &Mailbox, path: &Path, workflow: &WorkflowId) -> Result<CheckpointDocument> {
    if path == self::path(mailbox, workflow) {
        return read_own(path, workflow);
    }
    parse_proven(&disk::read(path, Checkpoint::LARGEST)?, workflow).map_err(|e| e.in_file(path))
}

/// Reads a checkpoint that must say that it is this workflow's.
pub(super) fn parse_proven(bytes: &[u8], workflow: &WorkflowId) -> Result<CheckpointDocument> {
    let not_proven = || {
        let fix = format!("write \"workflow_id\": \"{workflow}\" into it if it is, or save it: checkpoint save {workflow} < FILE");
        Error::invalid(PROOF, format!("does not say that this is the checkpoint of {workflow}"), fix)
    };
    match CheckpointDocument::parse(bytes) {
        Ok(document) => match &document.typed.workflow_id {
            Some(own) if own == workflow => Ok(document),
            Some(other) => Err(names_another(other, workflow)),
            None => Err(not_proven()),
        },
        // These errors quote no content of a foreign file: they name the place where the JSON breaks off, or a field of this workflow's checkpoint.
        Err(e) if serde_json::from_slice::<IgnoredAny>(bytes).is_err() || says(bytes, workflow) => Err(e),
        Err(_) => Err(not_proven()),
    }
}

/// Whether a JSON object says that it is this workflow's checkpoint, whatever else it holds.
fn says(bytes: &[u8], workflow: &WorkflowId) -> bool {
    #[derive(Deserialize)]
    struct Owner {
        workflow_id: WorkflowId,
    }
    document::json::<Owner>(bytes).is_some_and(|owner| owner.workflow_id == *workflow)
}

fn names_another(other: &WorkflowId, workflow: &WorkflowId) -> Error {
    Error::invalid(PROOF, format!("is `{other}`, not `{workflow}`"), "name the checkpoint of this workflow")
}

/// Whether a file that a question names as its checkpoint was refused because it does not say that it is.
#[must_use]
pub fn is_not_proven(error: &Error) -> bool {
    matches!(error, Error::Invalid { field, .. } if field == PROOF)
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
    read_own(&path(mailbox, workflow), workflow).map_err(|e| if e.is_missing_file() { missing(workflow) } else { e })
}

fn missing(workflow: &WorkflowId) -> Error {
    Error::not_found(
        format!("{workflow} has no checkpoint"),
        format!("save one: checkpoint save {workflow} --step NAME --next-action TEXT; see all: checkpoint list"),
    )
}

/// Replaces a workflow's own checkpoint, durably. The answer that it held stays, unless `json` says another.
/// Returns its path.
pub fn save(mailbox: &Mailbox, workflow: &WorkflowId, json: &[u8]) -> Result<PathBuf> {
    let mut document = CheckpointDocument::parse(json)?;
    match &document.typed.workflow_id {
        Some(other) if other != workflow => {
            return Err(Error::invalid("workflow_id", format!("is `{other}`, not `{workflow}`"), "leave it out, or save under that id"));
        }
        _ => document.typed.workflow_id = Some(workflow.clone()),
    }
    checkpoint::check(&document.typed)?;
    document.typed.schema_version = document.typed.schema_version.max(Some(crate::document::SCHEMA_VERSION));
    document.update()?;
    // Whatever is wrong with it is said before the wait for the lock.
    checkpoint::to_file(&document, 0)?;
    let _lock = mailbox.lock(workflow)?;
    let path = path(mailbox, workflow);
    // Written by hand, an answer is as old as its file: a later date would make it the answer of a later question.
    let written = modified(&path);
    let by_hand = match read_own(&path, workflow) {
        Ok(earlier) => keep_answer(&mut document, &earlier)?,
        Err(_) => false,
    };
    let bytes = checkpoint::to_file(&document, 0)?;
    if by_hand {
        disk::replace_dated(&path, &bytes, written)?
    } else {
        disk::replace(&path, &bytes)?
    }
    Ok(path)
}

/// Carries the answer of the `earlier` checkpoint over: an agent saves its own state, and the answer is not part of it. Returns whether that
/// is an answer that a person wrote by hand.
fn keep_answer(document: &mut CheckpointDocument, earlier: &CheckpointDocument) -> Result<bool> {
    let names_another = document.field("user_answer").is_some() && document.typed.user_answer != earlier.typed.user_answer;
    if names_another || document.field("user_answer_to").is_some() {
        return Ok(false);
    }
    for name in ["user_answer", "user_answer_to"] {
        if let Some(value) = earlier.field(name).filter(|_| document.field(name).is_none()) {
            let value: Box<RawValue> = serde_json::from_str(value).map_err(|e| Error::invalid(name, e.to_string(), "write it again"))?;
            document.set_field(name, &value)?;
        }
    }
    Ok(by_hand(&earlier.typed).is_some())
}

/// Changes a workflow's own checkpoint under the workflow's lock.
pub(super) fn update(mailbox: &Mailbox, workflow: &WorkflowId, change: impl FnOnce(&mut CheckpointDocument) -> Result<()>) -> Result<()> {
    let _lock = mailbox.lock(workflow)?;
    let path = path(mailbox, workflow);
    // As in `save`: an answer that was written by hand is as old as its file.
    let written = modified(&path);
    let mut document = load(mailbox, workflow)?;
    let by_hand = by_hand(&document.typed);
    let before = checkpoint::own_length(&document, &document.to_bytes());
    change(&mut document)?;
    // The change may have set any field to any value, so the result is parsed and checked again.
    let bytes = checkpoint::to_file(&document, before)?;
    let changed = CheckpointDocument::parse(&bytes)?.typed;
    checkpoint::check(&changed)?;
    if by_hand.is_some() && self::by_hand(&changed) == by_hand {
        disk::replace_dated(&path, &bytes, written)
    } else {
        disk::replace(&path, &bytes)
    }
}

/// The answer that a person wrote by hand: no round is noted for it.
fn by_hand(checkpoint: &Checkpoint) -> Option<Value> {
    checkpoint.user_answer.clone().filter(|_| checkpoint.user_answer_to.is_none())
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
