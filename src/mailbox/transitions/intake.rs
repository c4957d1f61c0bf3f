//! The intake: a file in `pending/` that another program wrote is checked and registered.
//!
//! A subagent may write `pending/WORKFLOW.json` with nothing but `cat`. Under the workflow's lock:
//! 1. settle the workflow;
//! 2. read and check the question. An unusable file goes to quarantine after its grace time;
//! 3. arm the question's timers, note the workflow as its parent's child, and keep a copy of a checkpoint that lies under a temporary
//!    folder.
//!
//! The file stays where it is: it is pending from the moment it was written.

use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;

use crate::disk;
use crate::error::{Error, Result};
use crate::id::{RoundId, WorkflowId};
use crate::mailbox::audit::{self, Entry};
use crate::mailbox::checkpoints::kept_copy;
use crate::mailbox::documents::question::{Question, QuestionDocument};
use crate::mailbox::due::timers;
use crate::mailbox::family::children;
use crate::mailbox::layout::{Folder, Mailbox};
use crate::mailbox::quarantine::{grace_left, quarantine};
use crate::mailbox::round;
use crate::mailbox::transitions::settle;

/// What was found in `pending/`.
#[derive(Debug)]
pub enum Found {
    /// A valid question, now registered.
    Question(Box<QuestionDocument>, RoundId),
    /// No file any more.
    Nothing,
    /// An unusable file that another program may still be writing. Its grace time ends after this long.
    InGrace(Duration),
    /// An unusable file. It was moved to quarantine.
    Quarantined,
}

/// Takes in one file of `pending/` by its name, which ends in `.json`.
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
            // The relaunched agent is told of a checkpoint that cannot be read; the question is valid without it.
            let _ = kept_copy::keep_copy(mailbox, &document.typed);
            Ok(Found::Question(Box::new(document), round))
        }
        Err(e) if e.is_missing_file() => Ok(Found::Nothing),
        Err(e @ Error::Invalid { .. }) => unusable(mailbox, &path, &e),
        Err(e) => Err(e),
    }
}

/// Writes the audit line `posted` of a question that another program wrote. Several watchers may take the question in; only
/// one writes the line.
pub fn record_posted(mailbox: &Mailbox, question: &Question, round: &RoundId) -> Result<()> {
    let lock = mailbox.lock(&round.workflow)?;
    let by = question.asked.asked_by.as_deref().unwrap_or("hand");
    audit::record_once(mailbox, &lock, Entry::of("posted", round).question(question).by(by).why("a file put into pending/"));
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
