//! How far a session has looked: a place in the audit trail, in `looked/SESSION.json`.
//!
//! The mark is a hint and not synced. A session whose mark is lost is told again what waits, and no history.

use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use crate::disk;
use crate::error::{IoContext, Result};
use crate::id::SessionId;
use crate::mailbox::Mailbox;
use crate::mailbox::audit::Entry;

/// A mark that was not used for so long is removed.
const KEPT: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// The largest mark, in bytes.
const LONGEST: u64 = 4096;
/// The most of the audit trail that is read at once, in bytes.
const MOST: u64 = 256 << 10;

/// A place in the audit trail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Mark {
    /// The inode of `audit.jsonl`: another one came with a rotation.
    file: u64,
    /// The bytes of it that the session knows.
    offset: u64,
}

/// What the audit trail holds behind a mark.
pub(super) struct News {
    pub(super) entries: Vec<Entry>,
    pub(super) mark: Mark,
}

fn folder(mailbox: &Mailbox) -> PathBuf {
    mailbox.root().join("looked")
}

fn path(mailbox: &Mailbox, session: &SessionId) -> PathBuf {
    folder(mailbox).join(format!("{session}.json"))
}

/// The mark of the session, if it has one.
pub(super) fn mark(mailbox: &Mailbox, session: &SessionId) -> Option<Mark> {
    serde_json::from_slice(&disk::read(&path(mailbox, session), LONGEST).ok()?).ok()
}

/// The lines behind the mark; without a mark none. After a rotation they are those of the new file.
pub(super) fn since(mailbox: &Mailbox, mark: Option<Mark>) -> Result<News> {
    let path = mailbox.root().join("audit.jsonl");
    let mut file = match disk::open_to_read(&path) {
        Err(e) if e.is_missing_file() => return Ok(News { entries: Vec::new(), mark: Mark { file: 0, offset: 0 } }),
        file => file?,
    };
    let metadata = file.metadata().io("look at", &path)?;
    let end = Mark { file: metadata.ino(), offset: metadata.len() };
    let begin = match mark {
        None => end.offset,
        Some(mark) if mark.file == end.file && mark.offset <= end.offset => mark.offset,
        Some(_) => 0,
    };
    let begin = begin.max(end.offset.saturating_sub(MOST));
    if begin == end.offset {
        return Ok(News { entries: Vec::new(), mark: end });
    }
    file.seek(SeekFrom::Start(begin)).io("read", &path)?;
    let mut bytes = Vec::new();
    file.take(end.offset - begin).read_to_end(&mut bytes).io("read", &path)?;
    // A line that is not complete yet is read the next time.
    let complete = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
    let entries = bytes[..complete].split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect();
    let offset = begin + u64::try_from(complete).unwrap_or_default();
    Ok(News { entries, mark: Mark { file: end.file, offset } })
}

/// Notes how far the session has looked.
pub(super) fn note(mailbox: &Mailbox, session: &SessionId, mark: Mark) -> Result<()> {
    let (path, bytes) = (path(mailbox, session), serde_json::json!(mark).to_string());
    match disk::replace_unsynced(&path, bytes.as_bytes(), SystemTime::now()) {
        Err(e) if e.is_missing_file() => {
            disk::create_folder_in(&folder(mailbox))?;
            disk::replace_unsynced(&path, bytes.as_bytes(), SystemTime::now())
        }
        other => other,
    }
}

/// Removes the marks of sessions that have not looked for long.
pub(super) fn remove_old(mailbox: &Mailbox) {
    let folder = folder(mailbox);
    let Ok(entries) = disk::entries(&folder) else { return };
    for entry in entries.flatten() {
        let is_mark = entry.name.to_str().and_then(|name| name.strip_suffix(".json")).is_some_and(|id| id.parse::<SessionId>().is_ok());
        let path = folder.join(&entry.name);
        let age = disk::metadata(&path).and_then(|m| m.modified()).ok().and_then(|changed| changed.elapsed().ok());
        if is_mark && age.is_some_and(|age| age > KEPT) {
            let _ = disk::remove(&path);
        }
    }
}
