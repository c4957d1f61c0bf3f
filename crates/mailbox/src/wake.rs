//! Wakes the session that asked. A live session of a user has the file `looked/SESSION.wake`, which Claude Code watches. A transition that
//! is news for the session changes the file, after its line in the audit trail.
//!
//! The file is a hint, and holds nothing that anybody reads. A change that is lost costs only time: the session is told the same news with
//! its next prompt.

use std::path::PathBuf;
use std::time::SystemTime;

use crate::disk;
use crate::documents::question::Question;
use crate::error::Result;
use crate::id::SessionId;
use crate::layout::Mailbox;

/// The end of the names of these files.
pub const SUFFIX: &str = ".wake";

/// The folder of all that is kept about what sessions were told.
#[must_use]
pub fn folder(mailbox: &Mailbox) -> PathBuf {
    mailbox.root().join("looked")
}

/// The file whose changes wake this session.
#[must_use]
pub fn path(mailbox: &Mailbox, session: &SessionId) -> PathBuf {
    folder(mailbox).join(format!("{session}{SUFFIX}"))
}

/// Makes the file of a session. From now on, the session is woken.
///
/// # Errors
/// [`Error::Io`](crate::error::Error::Io) if the system refuses.
pub fn begin(mailbox: &Mailbox, session: &SessionId) -> Result<PathBuf> {
    disk::create_folder_in(&folder(mailbox))?;
    let path = path(mailbox, session);
    disk::replace_unsynced(&path, b"", SystemTime::now())?;
    Ok(path)
}

/// Wakes the session that asked this question, if it wants to be woken. A dialog of the session, and a task of it, tell the session themselves.
pub fn asker(mailbox: &Mailbox, question: &Question) {
    let Some(session) = question.session_id.as_ref().filter(|_| question.asked.live.is_none() && !question.asked.to_session) else {
        return;
    };
    let path = path(mailbox, session);
    if disk::exists(&path) {
        let _ = disk::replace_unsynced(&path, b"", SystemTime::now());
    }
}
