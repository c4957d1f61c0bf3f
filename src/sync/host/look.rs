//! Which rounds are open in the mailbox, and which of them changed since the last look. Documents are read only where a file changed.
//!
//! The folders are read in the order in which a round moves, so a round that moves meanwhile is found at least once; its last place counts.
//! A round that was open and is found in none of them is looked up by its name. Only its document in `closed/` says that it is over; one
//! that is nowhere for two looks was pruned or removed by hand.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::disk;
use crate::error::Result;
use crate::id::{RoundId, WorkflowId};
use crate::mailbox::documents::content::Content;
use crate::mailbox::documents::question::QuestionDocument;
use crate::mailbox::listing::list;
use crate::mailbox::{Folder, Mailbox, read_question, round};
use crate::sync::host::row::Row;

/// What tells one state of a file from another.
type Mark = (u64, i64, i64, u64);

/// What a look found out about one file.
#[derive(Debug, Clone)]
struct File {
    mark: Mark,
    /// The round of the question in it; `None` if it holds none.
    round: Option<RoundId>,
}

/// A round that is open here, or that the database believes to be open.
#[derive(Debug, Clone, Default)]
struct Open {
    /// The file by which it was told last.
    told: Option<(Folder, Mark)>,
    turn: i64,
    /// Whether the last look did not find it.
    missed: bool,
}

/// What is known of the mailbox's open rounds.
#[derive(Debug, Default)]
pub struct Look {
    files: HashMap<PathBuf, File>,
    open: HashMap<RoundId, Open>,
}

/// What one look found.
#[derive(Debug, Default)]
pub struct Changes {
    /// The rows to be written.
    pub rows: Vec<Row>,
    /// What is known once they are.
    told: Vec<(RoundId, Option<Open>)>,
}

impl Look {
    /// A first look: all rounds are new, and those that the database believes to be open may be over.
    #[must_use]
    pub fn new(believed: Vec<(RoundId, i64)>) -> Self {
        let open = believed.into_iter().map(|(round, turn)| (round, Open { turn, ..Open::default() }));
        Self { files: HashMap::new(), open: open.collect() }
    }

    /// Looks at the folders. Nothing counts as told before [`Look::told`].
    ///
    /// # Errors
    /// If a folder cannot be read.
    pub fn look(&mut self, mailbox: &Mailbox) -> Result<Changes> {
        let mut files = HashMap::with_capacity(self.files.len());
        let mut found: HashMap<RoundId, (Folder, Mark)> = HashMap::new();
        for folder in [Folder::Pending, Folder::Answered, Folder::Running, Folder::Parked] {
            for name in list::names(mailbox, folder)? {
                let path = mailbox.folder(folder).join(&name);
                let Some(mark) = mark(&path) else { continue };
                let file = match self.files.get(&path).filter(|file| file.mark == mark) {
                    Some(file) => file.clone(),
                    None => File { mark, round: round_in(mailbox, folder, &name) },
                };
                if let Some(round) = file.round.clone() {
                    found.insert(round, (folder, mark));
                }
                files.insert(path, file);
            }
        }
        self.files = files;
        let mut changes = Changes::default();
        for (round, (folder, mark)) in &found {
            if self.open.get(round).and_then(|open| open.told) == Some((*folder, *mark)) {
                continue;
            }
            let Some(document) = read(mailbox, *folder, round) else { continue };
            let row = Row::of(round.clone(), *folder, &document.typed)?;
            changes.told.push((round.clone(), Some(Open { told: Some((*folder, *mark)), turn: row.turn, missed: false })));
            changes.rows.push(row);
        }
        for (round, open) in &mut self.open {
            if found.contains_key(round) {
                open.missed = false;
                continue;
            }
            match place(mailbox, round) {
                Some((Folder::Closed, document)) => {
                    changes.rows.push(Row::of(round.clone(), Folder::Closed, &document.typed)?);
                    changes.told.push((round.clone(), None));
                }
                // It moved just now, or waits for its watcher.
                Some(_) => open.missed = false,
                None if !open.missed => open.missed = true,
                None => {
                    changes.rows.push(Row::gone(round.clone(), open.turn));
                    changes.told.push((round.clone(), None));
                }
            }
        }
        Ok(changes)
    }

    /// The changes are in the database.
    pub fn told(&mut self, changes: Changes) {
        for (round, open) in changes.told {
            match open {
                Some(open) => drop(self.open.insert(round, open)),
                None => drop(self.open.remove(&round)),
            }
        }
    }

    /// Whether a round was missed: the next look decides.
    #[must_use]
    pub fn is_unsure(&self) -> bool {
        self.open.values().any(|open| open.missed)
    }
}

fn mark(path: &Path) -> Option<Mark> {
    let metadata = disk::metadata(path).ok()?;
    Some((metadata.ino(), metadata.mtime(), metadata.mtime_nsec(), metadata.len()))
}

/// The round of a question in this file that people may be shown.
fn round_in(mailbox: &Mailbox, folder: Folder, name: &str) -> Option<RoundId> {
    let (id, document) = match folder {
        Folder::Running | Folder::Parked => {
            let id = RoundId::from_file_name(name)?;
            let document = read(mailbox, folder, &id)?;
            (id, document)
        }
        _ => {
            let document = of_workflow(mailbox, folder, &WorkflowId::from_file_name(name)?)?;
            let is_pending = folder == Folder::Pending;
            let id = if is_pending { round::of_pending(mailbox, &document.typed) } else { round::round_of(mailbox, &document.typed) };
            (id.ok()?, document)
        }
    };
    matches!(document.typed.content(), Content::Question).then_some(id)
}

/// The document of a workflow in `pending/`, or with its answer in `answered/`.
fn of_workflow(mailbox: &Mailbox, folder: Folder, workflow: &WorkflowId) -> Option<QuestionDocument> {
    match folder {
        Folder::Pending => read_question::pending(mailbox, workflow).ok(),
        // Without a complete answer it waits for its watcher: it may go back to `pending/`.
        _ => read_question::answered(mailbox, workflow).ok().filter(|d| d.typed.answer.as_ref().is_some_and(|a| a.at.is_some())),
    }
}

/// The document of a round that lies in this folder.
fn read(mailbox: &Mailbox, folder: Folder, id: &RoundId) -> Option<QuestionDocument> {
    match folder {
        Folder::Pending | Folder::Answered => {
            let same = |d: &QuestionDocument| d.typed.question_id.is_none_or(|question| question == id.question);
            of_workflow(mailbox, folder, &id.workflow).filter(same)
        }
        _ => read_question::of_round(&mailbox.round(folder, id), id).ok(),
    }
}

/// Where a round lies now.
fn place(mailbox: &Mailbox, id: &RoundId) -> Option<(Folder, QuestionDocument)> {
    if let Ok(document) = read_question::of_round(&mailbox.round(Folder::Closed, id), id) {
        return Some((Folder::Closed, document));
    }
    round::of_workflow(mailbox, &id.workflow).into_iter().find(|round| round.id == *id).map(|found| (found.folder, found.document))
}
