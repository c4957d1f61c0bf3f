//! Reads, saves and removes checkpoints. A workflow's own checkpoint is `checkpoints/WORKFLOW.json`. A question may name a file in
//! any other folder. A copy is kept of a checkpoint under a temporary folder.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::documents::checkpoint::{self, CheckpointDocument};
use crate::read_question::modified;
use crate::{Checkpoint, Document, Error, Folder, Mailbox, Question, Result, Stored, WorkflowId, disk, document, without_bom};

/// The field that proves that a checkpoint belongs to a workflow.
const PROOF: &str = "workflow_id";

/// Reads a checkpoint file of any workflow.
///
/// # Errors
/// [`Error::Invalid`] if it is not a checkpoint or is too long. [`Error::Io`] if the file does not exist or the system refuses.
pub fn read(path: &Path) -> Result<CheckpointDocument> {
    Document::parse(&disk::read(path, Checkpoint::LARGEST)?).map_err(|e| e.in_file(path))
}

/// Reads a file of `checkpoints/`. Its name makes it this workflow's checkpoint, so it need not name the workflow, but it must not
/// name another one.
///
/// # Errors
/// [`Error::Invalid`] if it is not a checkpoint, is too long, or names another workflow. [`Error::Io`] if the file does not exist
/// or the system refuses.
pub fn read_own(path: &Path, workflow: &WorkflowId) -> Result<CheckpointDocument> {
    let document = read(path)?;
    match &document.typed.workflow_id {
        Some(other) if other != workflow => Err(names_another(other, workflow).in_file(path)),
        _ => Ok(document),
    }
}

/// Reads the checkpoint that a question names.
///
/// # Errors
/// [`Error::Invalid`] if it is not a checkpoint, is too long, or does not prove that it is this workflow's. [`Error::Io`] if the
/// file does not exist or the system refuses.
///
/// # Security
/// A question may name any file. Outside of `checkpoints/`, a file is used only if it says itself that it is this workflow's
/// checkpoint. No content of any other file leaves this function, not even in an error.
pub fn read_named(mailbox: &Mailbox, path: &Path, workflow: &WorkflowId) -> Result<CheckpointDocument> {
    if path == self::path(mailbox, workflow) {
        return read_own(path, workflow);
    }
    parse_proven(&disk::read(path, Checkpoint::LARGEST)?, workflow).map_err(|e| e.in_file(path))
}

/// Reads a checkpoint that must say that it belongs to this workflow.
pub(super) fn parse_proven(bytes: &[u8], workflow: &WorkflowId) -> Result<CheckpointDocument> {
    let not_proven = || {
        let fix =
            (format!("write \"workflow_id\": \"{workflow}\" into it if it is, or save it"), format!("checkpoint save {workflow} < FILE"));
        Error::invalid(PROOF, format!("does not say that this is the checkpoint of {workflow}"), fix)
    };
    match CheckpointDocument::parse(bytes) {
        Ok(document) => match &document.typed.workflow_id {
            Some(own) if own == workflow => Ok(document),
            Some(other) => Err(names_another(other, workflow)),
            None => Err(not_proven()),
        },
        // These errors quote no content of another file. The first kind names the place where the JSON breaks off. The second kind
        // names a field of this workflow's own checkpoint.
        Err(e) if serde_json::from_slice::<IgnoredAny>(without_bom(bytes)).is_err() || says(bytes, workflow) => Err(e),
        Err(_) => Err(not_proven()),
    }
}

/// True if a JSON object says that it is this workflow's checkpoint, even if the object is not a valid checkpoint.
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

/// True if a file was refused because it does not say that it is the checkpoint of the question's workflow.
pub fn is_not_proven(error: &Error) -> bool {
    matches!(error, Error::Invalid { field, .. } if field == PROOF)
}

/// The path of a workflow's own checkpoint.
pub fn path(mailbox: &Mailbox, workflow: &WorkflowId) -> PathBuf {
    mailbox.document(Folder::Checkpoints, workflow)
}

/// Reads a workflow's own checkpoint.
///
/// # Errors
/// [`Error::NotFound`] if the workflow has no checkpoint. [`Error::Invalid`] if the file is not this workflow's checkpoint.
/// [`Error::Io`] if the system refuses.
pub fn load(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<CheckpointDocument> {
    read_own(&path(mailbox, workflow), workflow).map_err(|e| if e.is_missing_file() { missing(workflow) } else { e })
}

fn missing(workflow: &WorkflowId) -> Error {
    let hint = ("save one", format!("checkpoint save {workflow} --step NAME --next-action TEXT; see all: checkpoint list"));
    Error::not_found(format!("{workflow} has no checkpoint"), hint)
}

/// Replaces a workflow's own checkpoint, durably, with the checkpoint in `json`. Keeps the answer of the old checkpoint, unless
/// `json` holds an answer itself. Returns the path.
///
/// # Errors
/// [`Error::Invalid`] if `json` is not a valid checkpoint, is too long, or names another workflow. [`Error::Held`] if another
/// process keeps the lock. [`Error::Io`] if the system refuses.
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
    // Any error in the document is reported before the wait for the lock.
    checkpoint::to_file(&document, 0)?;
    let _lock = mailbox.lock(workflow)?;
    let path = path(mailbox, workflow);
    // An answer that was written by hand is as old as its file, so the file keeps its date. A later date would make it the answer of a later question.
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

/// Copies the answer of the `earlier` checkpoint: an agent saves its own state, and the answer is not part of it. Returns true if a
/// person wrote that answer by hand.
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

/// Returns the answer if a person wrote it by hand: such an answer has no `user_answer_to`.
fn by_hand(checkpoint: &Checkpoint) -> Option<Value> {
    checkpoint.user_answer.clone().filter(|_| checkpoint.user_answer_to.is_none())
}

/// Removes a workflow's own checkpoint.
///
/// # Errors
/// [`Error::NotFound`] if the workflow has no checkpoint. [`Error::Held`] if another process keeps the lock. [`Error::Io`] if the
/// system refuses.
pub fn remove(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<()> {
    let _lock = mailbox.lock(workflow)?;
    let path = path(mailbox, workflow);
    if disk::exists(&path) { disk::remove(&path) } else { Err(missing(workflow)) }
}

/// Copies the checkpoint that a question names into `checkpoints/`. Does so only if it lies under a temporary folder, which a reboot
/// deletes, and if the copy is missing or has another modification time. The original path works as long as its file exists.
/// Comparing for "older" would not do: if the clock was once ahead, the copy has a later date than an original that was written after
/// it.
///
/// # Errors
/// [`Error::NotFound`] if the checkpoint is removed during the copy. [`Error::Invalid`] if it is not the checkpoint of this
/// workflow. [`Error::Failed`] if it keeps changing. [`Error::Io`] if the system refuses.
pub fn keep_copy(mailbox: &Mailbox, question: &Question) -> Result<()> {
    let Some(path) = question.checkpoint.as_deref().filter(|p| is_temporary(p)) else { return Ok(()) };
    let copy = mailbox.document(Folder::Checkpoints, &question.workflow_id);
    if path == copy {
        return Ok(());
    }
    // Modification times show whether an answer is younger than its question, so the copy gets the time of its content.
    let mut time = modified(path);
    for _ in 0..10 {
        if disk::exists(&copy) && modified(&copy) == time {
            return Ok(());
        }
        let document = read_named(mailbox, path, &question.workflow_id).map_err(|e| gone(path, e))?;
        // A person wrote an answer into the copy by hand.
        let is_other = |copy: &Checkpoint| copy.user_answer.is_some() && copy.user_answer != document.typed.user_answer;
        if read(&copy).is_ok_and(|copy| is_other(&copy.typed)) {
            return Ok(());
        }
        if modified(path) == time {
            return disk::replace_dated(&copy, &document.to_file()?, time);
        }
        time = modified(path);
    }
    let hint = "post the question after the checkpoint has been written";
    Err(Error::failed(format!("{} changes while it is being copied", path.display()), hint))
}

fn gone(path: &Path, error: Error) -> Error {
    if !error.is_missing_file() {
        return error;
    }
    Error::not_found(format!("the checkpoint {} was removed while it was being copied", path.display()), "save it, and post again")
}

fn is_temporary(path: &Path) -> bool {
    let temp = std::env::temp_dir();
    [Path::new("/tmp"), Path::new("/var/tmp"), Path::new("/dev/shm"), temp.as_path()].iter().any(|t| path.starts_with(t))
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
