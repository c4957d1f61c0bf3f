//! Reads rounds from the archive: the document, and the records of its attempts.

use std::collections::HashMap;
use std::path::PathBuf;

use crate::archive::{self, ArchivedRound, Content, Located};
use crate::attempt::record::Run;
use askbox_mailbox::document::Document;
use askbox_mailbox::error::{Error, Result};
use askbox_mailbox::id::{RoundId, WorkflowId};
use askbox_mailbox::round::Round;
use askbox_mailbox::{Folder, Mailbox, read_question};

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

/// The newest archived round of a workflow, if there is one.
///
/// # Errors
/// [`Error::Failed`] if the archive is damaged there.
pub fn latest(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<Option<Round>> {
    let Some(found) = archive::newest_of(mailbox, workflow)? else { return Ok(None) };
    let round = ArchiveReader::default().read(mailbox, &found)?;
    let document = read_question::of_bytes(&round.document, &round.archive, &round.id)?;
    Ok(Some(Round { folder: Folder::Closed, id: round.id, document }))
}
