//! The intake: checks and registers a file in `pending/` that another program wrote.
//!
//! A subagent may write `pending/WORKFLOW.json` with nothing but `cat`. The steps, under the workflow's lock:
//! 1. Settle the workflow.
//! 2. Read and check the question. An unusable file goes to quarantine after its grace time.
//! 3. Arm the question's timers, note the workflow as its parent's child, and keep a copy of a checkpoint that lies under a
//!    temporary folder.
//!
//! The file is not moved: the question is pending from the moment it was written.

use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;

use crate::audit::{self, Entry};
use crate::checkpoints::store;
use crate::quarantine::{grace_left, quarantine};
use crate::{Error, Folder, Mailbox, Question, QuestionDocument, Result, RoundId, WorkflowId, children, disk, round, settle, timers};

/// The result of [`take_in`].
#[derive(Debug)]
pub enum Found {
    /// A valid question, now registered.
    Question(Box<QuestionDocument>, RoundId),
    /// The file does not exist any more.
    Nothing,
    /// An unusable file, which another program may still be writing. The duration is the rest of its grace time.
    InGrace(Duration),
    /// An unusable file. It was moved to quarantine.
    Quarantined,
}

/// Takes in one file of `pending/`. `name` is its file name, which ends in `.json`.
///
/// # Errors
/// [`Error::Newer`] if a newer askbox wrote the file. [`Error::Held`] if another process keeps the lock. [`Error::Io`] if the
/// system refuses.
pub fn take_in(mailbox: &Mailbox, name: &OsStr) -> Result<Found> {
    let path = mailbox.folder(Folder::Pending).join(name);
    let Some(workflow) = name.to_str().and_then(WorkflowId::from_file_name) else {
        return unusable(mailbox, &path, &Error::invalid("file", "its name is not WORKFLOW_ID.json", "rename it"));
    };
    let lock = mailbox.lock(&workflow)?;
    match settle::settled_pending(mailbox, &lock) {
        Ok(document) => {
            let round = round::of_pending(mailbox, &document.typed)?;
            timers::arm(mailbox, &document.typed, &round)?;
            children::note_asker(mailbox, &document.typed)?;
            // A checkpoint that cannot be read does not make the question invalid. The relaunched agent is told of it.
            let _ = store::keep_copy(mailbox, &document.typed);
            Ok(Found::Question(Box::new(document), round))
        }
        Err(e) if e.is_missing_file() => Ok(Found::Nothing),
        Err(e @ Error::Invalid { .. }) => unusable(mailbox, &path, &e),
        Err(e) => Err(e),
    }
}

/// Writes the audit line `posted` of a question that another program wrote. Several watchers may take the question in, but only one
/// of them writes the line.
///
/// # Errors
/// [`Error::Held`] if another process keeps the lock. [`Error::Io`] if the system refuses.
pub fn record_posted(mailbox: &Mailbox, question: &Question, round: &RoundId) -> Result<()> {
    let lock = mailbox.lock(&round.workflow)?;
    let by = question.asked_by.as_deref().unwrap_or("hand");
    audit::record_once(mailbox, &lock, Entry::about_round("posted", round).question(question).by(by).why("a file put into pending/"));
    Ok(())
}

fn unusable(mailbox: &Mailbox, path: &Path, error: &Error) -> Result<Found> {
    if !disk::exists(path) {
        return Ok(Found::Nothing);
    }
    if let Some(left) = grace_left(path) {
        return Ok(Found::InGrace(left));
    }
    let name = path.file_name().unwrap_or_default();
    quarantine(mailbox, path, name, &format!("{error}; {}", error.hint()))?;
    Ok(Found::Quarantined)
}
