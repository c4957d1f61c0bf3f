//! The bytes of the files that a person is shown beside a question: `attachments/WORKFLOW.QUESTION/SHA256`.
//!
//! The document names each file with its hash, and every answer and signature covers these names: see
//! [`documents::fields::attachment`](crate::documents::fields::attachment). So nobody can exchange a file after the post. Bytes with
//! another hash are never shown.
//!
//! A post writes the files before its commit point. If it is killed in between, the folder belongs to no round. `askbox gc` removes such
//! a folder after [`ABANDONED_AFTER`].

use std::path::PathBuf;
use std::time::Duration;

use crate::disk::{self, Removed};
use crate::{Attachment, IoContext, Mailbox, Question, Result, RoundId};

/// The name of the folder. The first post with files makes it.
const FOLDER: &str = "attachments";

/// The age from which files without a round were left behind by a killed post.
pub const ABANDONED_AFTER: Duration = Duration::from_secs(3600);

/// A file to be shown beside a question that is about to be posted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttachedFile {
    /// The file's name, type, size and hash.
    pub about: Attachment,
    bytes: Vec<u8>,
}

impl AttachedFile {
    /// Returns the file with this name and content.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::error::Error::Invalid) with the field `attachments` if the file is empty, longer than its type may be,
    /// or neither text nor an image, or if the name is not the name of a file.
    pub fn new(name: &str, bytes: Vec<u8>) -> Result<Self> {
        Attachment::of(name, &bytes).map(|about| Self { about, bytes })
    }
}

/// Why a file beside a question cannot be shown.
#[derive(Debug, Clone, PartialEq, Eq, derive_more::Display)]
pub enum Damage {
    /// The file is not there.
    #[display("the file is missing from the mailbox")]
    Missing,
    /// The file is not the one that was attached.
    #[display("the file in the mailbox is not the one that was attached")]
    Changed,
    /// The file is refused or cannot be read, with the reason.
    #[display("the file cannot be read: {_0}")]
    Unreadable(String),
}

/// Reads a file beside the question of this round. The bytes are those that were attached.
///
/// # Errors
/// [`Damage`] if they are not.
pub fn read(mailbox: &Mailbox, round: &RoundId, about: &Attachment) -> Result<Vec<u8>, Damage> {
    match disk::read(&folder(mailbox, round).join(&about.sha256), about.kind.largest()) {
        Ok(bytes) if about.is_of(&bytes) => Ok(bytes),
        Ok(_) => Err(Damage::Changed),
        Err(e) if e.is_missing_file() => Err(Damage::Missing),
        Err(e) => Err(Damage::Unreadable(e.to_string())),
    }
}

/// Says which files beside the question are damaged; `None` if all are as they were attached.
pub fn damage(mailbox: &Mailbox, round: &RoundId, question: &Question) -> Option<String> {
    let damaged = |about: &Attachment| read(mailbox, round, about).err().map(|damage| format!("{}: {damage}", about.words()));
    let damaged: Vec<_> = question.attachments.iter().filter_map(damaged).collect();
    (!damaged.is_empty()).then(|| damaged.join("; "))
}

/// The folder `attachments/WORKFLOW.QUESTION`.
fn folder(mailbox: &Mailbox, round: &RoundId) -> PathBuf {
    mailbox.root().join(FOLDER).join(round.to_string())
}

/// The files of a post whose question is not there yet. They are removed again if this is dropped before [`Written::stay`].
#[must_use = "the files are removed if this is dropped"]
pub(crate) struct Written<'a> {
    of: Option<(&'a Mailbox, RoundId)>,
}

/// Writes the files of a round, durably.
pub(crate) fn write<'a>(mailbox: &'a Mailbox, round: &RoundId, files: &[AttachedFile]) -> Result<Written<'a>> {
    if files.is_empty() {
        return Ok(Written { of: None });
    }
    let folder = folder(mailbox, round);
    let written = Written { of: Some((mailbox, round.clone())) };
    disk::create_folder(&folder)?;
    let files: Vec<_> = files.iter().map(|file| (folder.join(&file.about.sha256), file.bytes.as_slice())).collect();
    disk::create_all(&folder, &files)?;
    Ok(written)
}

impl Written<'_> {
    /// Keeps the files, because their question is posted.
    pub(crate) fn stay(mut self) {
        self.of = None;
    }
}

impl Drop for Written<'_> {
    fn drop(&mut self) {
        if let Some((mailbox, round)) = &self.of {
            // If the system refuses, `askbox gc` removes them later.
            let _ = remove(mailbox, round);
        }
    }
}

/// Removes the files of a round. Does nothing if it has none. A file that askbox did not write stays.
///
/// # Errors
/// [`Error::Io`](crate::error::Error::Io) if the system refuses.
pub fn remove(mailbox: &Mailbox, round: &RoundId) -> Result<Removed> {
    let known = |depth: usize, name: &str, is_folder: bool| depth == 0 && !is_folder && (is_hash(name) || disk::is_temporary_name(name));
    disk::remove_known(&folder(mailbox, round), &known)
}

fn is_hash(name: &str) -> bool {
    name.len() == 64 && name.bytes().all(|b| b.is_ascii_hexdigit())
}

/// Returns the paths of the files of a round that askbox wrote.
///
/// # Errors
/// [`Error::Io`](crate::error::Error::Io) if the folder cannot be read.
pub fn files(mailbox: &Mailbox, round: &RoundId) -> Result<Vec<PathBuf>> {
    let folder = folder(mailbox, round);
    let entries = match disk::entries(&folder) {
        Err(e) if matches!(e.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory) => return Ok(Vec::new()),
        other => other.io("read", &folder)?,
    };
    let mut files = Vec::new();
    for entry in entries {
        let entry = entry.io("read", &folder)?;
        files.extend((entry.is_file() && entry.name.to_str().is_some_and(is_hash)).then_some(entry.path));
    }
    Ok(files)
}

/// Returns the rounds that have a folder here which has not changed for [`ABANDONED_AFTER`].
///
/// # Errors
/// [`Error::Io`](crate::error::Error::Io) if the folder cannot be read.
pub fn settled_rounds(mailbox: &Mailbox) -> Result<Vec<RoundId>> {
    let all = mailbox.root().join(FOLDER);
    let Some(entries) = disk::entries_if_there(&all)? else { return Ok(Vec::new()) };
    let mut rounds = Vec::new();
    for entry in entries {
        let entry = entry.io("read", &all)?;
        let changed = disk::metadata(&entry.path).and_then(|meta| meta.modified());
        let is_settled = changed.is_ok_and(|at| at.elapsed().is_ok_and(|age| age > ABANDONED_AFTER));
        let round = entry.name.to_str().and_then(|name| RoundId::from_file_name(&format!("{name}.json")));
        rounds.extend(round.filter(|_| is_settled && entry.is_folder()));
    }
    Ok(rounds)
}
