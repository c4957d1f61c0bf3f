//! Reads rounds from the archive: the document, the records of its attempts, and their events.

use std::collections::HashMap;
use std::path::PathBuf;

use crate::archive::{self, ArchivedRound, Content, Located};
use crate::attempt::record::Run;
use crate::story::{Story, Teller};
use askbox_mailbox::round::Round;
use askbox_mailbox::{Document, Error, Folder, Mailbox, Question, Result, RoundId, WorkflowId, read_question};

/// An archived round, as far as views need it.
#[derive(Debug)]
pub struct ArchivedFiles {
    /// The round's id.
    pub id: RoundId,
    /// The archive that it was read from.
    pub archive: PathBuf,
    /// The bytes of its document.
    pub document: Vec<u8>,
    /// The records of its attempts that can be read, in their order.
    pub attempts: Vec<Run>,
}

/// Reads archived rounds. It keeps the member of the archive that it read last, because neighbours in time lie in the same one.
#[derive(Debug, Default)]
pub struct ArchiveReader {
    last: Option<(Located, HashMap<RoundId, Content>)>,
}

impl ArchiveReader {
    /// Reads a round.
    ///
    /// # Errors
    /// [`Error::Failed`] with the file and the place if the archive is damaged there.
    pub fn read(&mut self, mailbox: &Mailbox, round: &ArchivedRound) -> Result<ArchivedFiles> {
        if self.last.as_ref().is_none_or(|(located, _)| *located != round.located) {
            self.last = None;
            self.last = Some((round.located, archive::content(mailbox, round.located)?));
        }
        let id = round.id();
        let archive = archive::file(mailbox, round.located.month);
        let content = self.last.as_mut().and_then(|(_, content)| content.remove(&id));
        let document = format!("closed/{}", id.file_name());
        let Some((mut content, document)) = content.and_then(|mut content| content.remove(&document).map(|bytes| (content, bytes))) else {
            let message = format!("{} lacks the round {id}, which its index names", archive.display());
            return Err(Error::failed(message, "restore both files from a backup; the other rounds can still be read"));
        };
        let begin = format!("runs/{}/{}/", id.workflow, id.question);
        let number = |file: &str| file.strip_prefix(&begin)?.strip_suffix("/run.json")?.parse::<u32>().ok();
        let mut attempts: Vec<(u32, Run)> = std::mem::take(&mut content)
            .into_iter()
            .filter_map(|(file, bytes)| Some((number(&file)?, Document::<Run>::parse(&bytes).ok()?.typed)))
            .collect();
        attempts.sort_unstable_by_key(|(number, _)| *number);
        Ok(ArchivedFiles { id, archive, document, attempts: attempts.into_iter().map(|(_, run)| run).collect() })
    }
}

/// The story of a workflow whose rounds are all archived: that of its newest round. `None` if none is.
///
/// # Errors
/// [`Error::Failed`] if the archive is damaged there. [`Error::Invalid`] if the document cannot be read.
pub fn story(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<Option<Story>> {
    let Some(found) = archive::newest_of(mailbox, workflow)? else { return Ok(None) };
    let round = ArchiveReader::default().read(mailbox, &found)?;
    let question = read_question::of_bytes(&round.document, &round.archive, &round.id)?.typed;
    let story = Teller::of_states(mailbox).of_archived(&round.id, &question, &round.attempts)?;
    let events = if round.attempts.is_empty() { String::new() } else { format!("; what its run did: relaunch logs {workflow}") };
    let todo = format!("archived in {}{events}; all of its rounds: askbox history {workflow}", round.archive.display());
    Ok(Some(Story { todo: Some(todo), ..story }))
}

/// The run of an archived round.
#[derive(Debug)]
pub struct ArchivedRun {
    found: ArchivedRound,
    /// The archive.
    pub archive: PathBuf,
    /// The records of its attempts, in their order.
    pub attempts: Vec<Run>,
}

/// How many of the newest rounds are looked for at once.
const AT_ONCE: usize = 8;

impl ArchivedRun {
    /// The newest archived run of a workflow. `None` if there is none.
    ///
    /// # Errors
    /// [`Error::Failed`] if the archive is damaged there.
    pub fn newest(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<Option<Self>> {
        let mut reader = ArchiveReader::default();
        for found in archive::NewestArchived::find(mailbox, Some(workflow), None, Some(AT_ONCE))? {
            let found = found?;
            let ArchivedFiles { archive, attempts, .. } = reader.read(mailbox, &found)?;
            // Some rounds ended without a run.
            if !attempts.is_empty() {
                return Ok(Some(Self { found, archive, attempts }));
            }
        }
        Ok(None)
    }

    /// The path of a file of an attempt, below the mailbox.
    pub fn file(&self, attempt: u32, name: &str) -> String {
        let RoundId { workflow, question } = self.found.id();
        format!("runs/{workflow}/{question}/{attempt}/{name}")
    }

    /// Hands over each complete line of a file of an attempt, without its line feed. Returns true if the archive has that file. One part of
    /// the file is in memory at a time.
    ///
    /// # Errors
    /// [`Error::Failed`] if the archive is damaged there. The first error of `take`.
    pub fn each_line(&self, mailbox: &Mailbox, attempt: u32, name: &str, mut take: impl FnMut(&str) -> Result<()>) -> Result<bool> {
        let mut incomplete = Vec::new();
        archive::file_parts(mailbox, self.found.located, &self.found.id(), &self.file(attempt, name), |part| {
            for piece in part.split_inclusive(|byte| *byte == b'\n') {
                incomplete.extend_from_slice(piece);
                if let Some(line) = incomplete.strip_suffix(b"\n") {
                    take(&String::from_utf8_lossy(line))?;
                    incomplete.clear();
                }
            }
            Ok(())
        })
    }
}

/// The newest archived rounds of a workflow, with their runs. Some rounds ended without a run.
///
/// # Errors
/// [`Error::Failed`] if the archive is damaged there. [`Error::Invalid`] if a document cannot be read.
pub fn newest_rounds(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<Vec<(Question, ArchivedRun)>> {
    let mut reader = ArchiveReader::default();
    let newest = archive::NewestArchived::find(mailbox, Some(workflow), None, Some(AT_ONCE))?.take(AT_ONCE);
    newest
        .map(|found| {
            let found = found?;
            let ArchivedFiles { id, archive, document, attempts } = reader.read(mailbox, &found)?;
            let question = read_question::of_bytes(&document, &archive, &id)?.typed;
            Ok((question, ArchivedRun { found, archive, attempts }))
        })
        .collect()
}

/// An archived round with the records of its attempts.
#[derive(Debug)]
pub struct Archived {
    /// The round. Its folder is that of closed rounds.
    pub round: Round,
    /// The records of its attempts that can be read, in their order.
    pub attempts: Vec<Run>,
    /// The archive that it was read from.
    pub archive: PathBuf,
}

/// The newest archived round of a workflow, if there is one.
///
/// # Errors
/// [`Error::Failed`] if the archive is damaged there.
pub fn latest(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<Option<Archived>> {
    let Some(found) = archive::newest_of(mailbox, workflow)? else { return Ok(None) };
    let ArchivedFiles { id, archive, document, attempts } = ArchiveReader::default().read(mailbox, &found)?;
    let document = read_question::of_bytes(&document, &archive, &id)?;
    Ok(Some(Archived { round: Round { folder: Folder::Closed, id, document }, attempts, archive }))
}
