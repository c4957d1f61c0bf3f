//! Reads rounds from the archive: the document, the records of its attempts, and their events.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::archive::{self, ArchivedRound};
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

/// Reads an archived round.
///
/// # Errors
/// [`Error::Failed`] if its file is damaged. [`Error::Io`] if it cannot be opened.
pub fn read(mailbox: &Mailbox, round: &ArchivedRound) -> Result<ArchivedFiles> {
    let (id, archive) = (round.id(), round.path(mailbox));
    let mut content = archive::content(&archive)?;
    let Some(document) = content.remove(&format!("closed/{}", id.file_name())) else {
        let message = format!("{} lacks the document of its round", archive.display());
        return Err(Error::failed(message, "restore it from a backup; the other rounds can still be read"));
    };
    let begin = format!("runs/{}/{}/", id.workflow, id.question);
    let number = |file: &str| file.strip_prefix(&begin)?.strip_suffix("/run.json")?.parse::<u32>().ok();
    let attempt = |(file, bytes): (String, Vec<u8>)| Some((number(&file)?, Document::<Run>::parse(&bytes).ok()?.typed));
    let attempts: BTreeMap<u32, Run> = content.into_iter().filter_map(attempt).collect();
    Ok(ArchivedFiles { id, archive, document, attempts: attempts.into_values().collect() })
}

/// The story of a workflow whose rounds are all archived: that of its newest round. `None` if none is.
///
/// # Errors
/// [`Error::Failed`] if the archive is damaged there. [`Error::Invalid`] if the document cannot be read.
pub fn story(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<Option<Story>> {
    let Some(found) = archive::newest_of(mailbox, workflow)? else { return Ok(None) };
    let round = read(mailbox, &found)?;
    let question = read_question::of_bytes(&round.document, &round.archive, &round.id)?.typed;
    let story = Teller::of_states(mailbox).of_archived(&round.id, &question, &round.attempts)?;
    let events = if round.attempts.is_empty() { String::new() } else { format!("; what its run did: relaunch logs {workflow}") };
    let todo = format!("archived in {}{events}; all of its rounds: askbox history {workflow}", round.archive.display());
    Ok(Some(Story { todo: Some(todo), ..story }))
}

/// The run of an archived round.
#[derive(Debug)]
pub struct ArchivedRun {
    id: RoundId,
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
        for found in archive::NewestArchived::find(mailbox, Some(workflow), None, Some(AT_ONCE))? {
            let ArchivedFiles { id, archive, attempts, .. } = read(mailbox, &found?)?;
            // Some rounds ended without a run.
            if !attempts.is_empty() {
                return Ok(Some(Self { id, archive, attempts }));
            }
        }
        Ok(None)
    }

    /// The path of a file of an attempt, below the mailbox.
    pub fn file(&self, attempt: u32, name: &str) -> String {
        let RoundId { workflow, question } = &self.id;
        format!("runs/{workflow}/{question}/{attempt}/{name}")
    }

    /// Hands over each line of a file of an attempt, without its line feed. Returns true if the archive has that file.
    ///
    /// # Errors
    /// [`Error::Failed`] if the archive is damaged. The first error of `take`.
    pub fn each_line(&self, attempt: u32, name: &str, take: impl FnMut(&str) -> Result<()>) -> Result<bool> {
        archive::each_line(&self.archive, &self.file(attempt, name), take)
    }
}

/// The newest archived rounds of a workflow, with their runs. Some rounds ended without a run.
///
/// # Errors
/// [`Error::Failed`] if the archive is damaged there. [`Error::Invalid`] if a document cannot be read.
pub fn newest_rounds(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<Vec<(Question, ArchivedRun)>> {
    let newest = archive::NewestArchived::find(mailbox, Some(workflow), None, Some(AT_ONCE))?.take(AT_ONCE);
    newest
        .map(|found| {
            let ArchivedFiles { id, archive, document, attempts } = read(mailbox, &found?)?;
            let question = read_question::of_bytes(&document, &archive, &id)?.typed;
            Ok((question, ArchivedRun { id, archive, attempts }))
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
    let ArchivedFiles { id, archive, document, attempts } = read(mailbox, &found)?;
    let document = read_question::of_bytes(&document, &archive, &id)?;
    Ok(Some(Archived { round: Round { folder: Folder::Closed, id, document }, attempts, archive }))
}
