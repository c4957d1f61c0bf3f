//! Rounds in the archive: the document, the records of the attempts, and their events.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::archive::{self, ArchivedRound, NewestArchived};
use crate::{Run, Story, Teller};
use askbox_mailbox::{Document, Error, Mailbox, QuestionDocument, Result, RoundId, WorkflowId, read_question};

/// How many of the newest rounds are looked for at once.
pub(crate) const AT_ONCE: usize = 8;

/// An archived round, as far as views need it.
pub struct Archived {
    /// The round's id.
    pub id: RoundId,
    /// The archive that it was read from.
    pub archive: PathBuf,
    /// The document, or why it cannot be read.
    pub document: Result<QuestionDocument>,
    /// The records of its attempts that can be read, in their order. Some rounds ended without a run.
    pub attempts: Vec<Run>,
}

impl Archived {
    pub(crate) fn read(mailbox: &Mailbox, round: &ArchivedRound) -> Result<Self> {
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
        let document = read_question::of_bytes(&document, &archive, &id);
        Ok(Self { id, archive, document, attempts: attempts.into_values().collect() })
    }

    /// The archived rounds of a workflow, the newest first. An item is [`Error::Failed`] if its archive is damaged.
    ///
    /// # Errors
    /// [`Error::Io`] if the folder of the archives cannot be read.
    pub fn newest(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<impl Iterator<Item = Result<Self>>> {
        let found = NewestArchived::find(mailbox, Some(workflow), None, Some(AT_ONCE))?;
        Ok(found.map(move |round| Self::read(mailbox, &round?)))
    }

    /// The newest archived round of a workflow, if there is one.
    ///
    /// # Errors
    /// Those of [`Self::newest`] and of its item.
    pub fn latest(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<Option<Self>> {
        Self::newest(mailbox, workflow)?.next().transpose()
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

/// The story of a workflow whose rounds are all archived: that of its newest round. `None` if none is.
///
/// # Errors
/// [`Error::Failed`] if the archive is damaged there. [`Error::Invalid`] if the document cannot be read.
pub fn story(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<Option<Story>> {
    let Some(Archived { id, archive, document, attempts }) = Archived::latest(mailbox, workflow)? else { return Ok(None) };
    let story = Teller::of_states(mailbox).of_archived(&id, &document?.typed, &attempts)?;
    let events = if attempts.is_empty() { String::new() } else { format!("; what its run did: relaunch logs {workflow}") };
    let todo = format!("archived in {}{events}; all of its rounds: askbox history {workflow}", archive.display());
    Ok(Some(Story { todo: Some(todo), ..story }))
}
