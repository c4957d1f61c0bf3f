//! Which rounds are open in the mailbox, and which of them changed since the last look. A document is read only if its file changed.
//!
//! The folders are read in the order of a round's moves. So a round that moves during the look is found at least once, and its last
//! place counts. An open round that is found in none of the folders is looked up by its name. Only its document in `closed/` proves
//! that it is over. A round that is missing in two looks was pruned or removed by hand.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::sync::host::store::Row;
use askbox_mailbox::{Content, Folder, Mailbox, QuestionDocument, Result, RoundId, WorkflowId, disk, list, read_question, round};

/// The numbers that differ between two states of a file.
type Mark = (u64, i64, i64, u64);

/// The result of looking at one file.
#[derive(Debug, Clone)]
struct File {
    mark: Mark,
    /// The round of the question in it; `None` if there is no question in it.
    round: Option<RoundId>,
}

/// A round that is open here, or that the database believes to be open.
#[derive(Debug, Clone, Default)]
struct Open {
    /// The file that the round was last reported from.
    told: Option<(Folder, Mark)>,
    turn: i64,
    /// True if the last look did not find it.
    missed: bool,
}

/// The known open rounds of the mailbox.
#[derive(Debug, Default)]
pub struct Look {
    files: HashMap<PathBuf, File>,
    open: HashMap<RoundId, Open>,
    /// The change times of the folders before the last look, unless one of them had changed a moment before.
    folders: Option<[FolderTime; FOLDERS.len()]>,
}

/// The folders of open rounds, in the order of a round's moves.
const FOLDERS: [Folder; 4] = [Folder::Pending, Folder::Answered, Folder::Running, Folder::Parked];

/// The change time of a folder: seconds and nanoseconds.
type FolderTime = (i64, i64);

/// A file system may give two changes the same time if they are as close together as this.
const CLOSE: Duration = Duration::from_millis(50);

/// The change times of the folders; `None` if one has changed a moment ago, or cannot be read.
fn folder_times(mailbox: &Mailbox) -> Option<[FolderTime; FOLDERS.len()]> {
    let mut times = [(0, 0); FOLDERS.len()];
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).ok()?;
    for (time, folder) in times.iter_mut().zip(FOLDERS) {
        let meta = disk::metadata(mailbox.folder(folder)).ok()?;
        *time = (meta.ctime(), meta.ctime_nsec());
        let changed = Duration::new(u64::try_from(meta.ctime()).ok()?, u32::try_from(meta.ctime_nsec()).ok()?);
        if now.saturating_sub(changed) < CLOSE {
            return None;
        }
    }
    Some(times)
}

/// The result of one look.
#[derive(Debug, Default)]
pub struct Changes {
    /// The rows to write.
    pub rows: Vec<Row>,
    /// The known rounds once the rows are written.
    told: Vec<(RoundId, Option<Open>)>,
}

impl Look {
    /// A first look: all rounds are new, and those that the database believes to be open may be over.
    pub fn new(believed: Vec<(RoundId, i64)>) -> Self {
        let open = believed.into_iter().map(|(round, turn)| (round, Open { turn, ..Open::default() }));
        Self { files: HashMap::new(), open: open.collect(), folders: None }
    }

    /// Looks at the folders. Nothing counts as reported before [`Look::told`].
    ///
    /// # Errors
    /// If a folder cannot be read.
    pub fn look(&mut self, mailbox: &Mailbox) -> Result<Changes> {
        let folders = folder_times(mailbox);
        let mut files = HashMap::with_capacity(self.files.len());
        let mut found: HashMap<RoundId, (Folder, Mark)> = HashMap::new();
        for folder in FOLDERS {
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
        (self.files, self.folders) = (files, folders);
        let mut changes = Changes::default();
        for (round, (folder, mark)) in &found {
            if self.open.get(round).and_then(|open| open.told) == Some((*folder, *mark)) {
                continue;
            }
            let Some(document) = read(mailbox, *folder, round) else { continue };
            let row = Row::new(round.clone(), *folder, &document.typed)?;
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
                    changes.rows.push(Row::new(round.clone(), Folder::Closed, &document.typed)?);
                    changes.told.push((round.clone(), None));
                }
                // The round moved just now, or waits for its watcher.
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

    /// Notes that the changes are in the database.
    pub fn told(&mut self, changes: Changes) {
        for (round, open) in changes.told {
            match open {
                Some(open) => drop(self.open.insert(round, open)),
                None => drop(self.open.remove(&round)),
            }
        }
    }

    /// True if no name came or went since the last look, and that look missed no round. A file that was changed in its place is found
    /// only by a look.
    pub fn is_up_to_date(&self, mailbox: &Mailbox) -> bool {
        self.folders.is_some() && self.folders == folder_times(mailbox) && !self.is_unsure()
    }

    /// True if no round is open.
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// True if a round was missed. The next look then decides.
    pub fn is_unsure(&self) -> bool {
        self.open.values().any(|open| open.missed)
    }
}

fn mark(path: &Path) -> Option<Mark> {
    let metadata = disk::metadata(path).ok()?;
    Some((metadata.ino(), metadata.mtime(), metadata.mtime_nsec(), metadata.len()))
}

/// The round of a question in this file, if people may be shown it.
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
        // Without a complete answer it waits for its watcher, and may go back to `pending/`.
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

/// The present place of a round.
fn place(mailbox: &Mailbox, id: &RoundId) -> Option<(Folder, QuestionDocument)> {
    if let Ok(document) = read_question::of_round(&mailbox.round(Folder::Closed, id), id) {
        return Some((Folder::Closed, document));
    }
    round::find(mailbox, id).map(|found| (found.folder, found.document))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_is_up_to_date_until_a_name_comes_or_goes() {
        let folder = tempfile::tempdir().unwrap();
        let mailbox = Mailbox::open_or_create(folder.path().join("m")).unwrap();
        let file = mailbox.folder(Folder::Pending).join("w.json");
        let question = r#"{"workflow_id":"w","question_id":"01900000-0000-7000-8000-000000000000","question":"Merge?"}"#;
        let mut look = Look::new(Vec::new());
        let look_again = |look: &mut Look| {
            let changes = look.look(&mailbox).unwrap();
            look.told(changes);
        };
        let written = std::time::Instant::now();
        std::fs::write(&file, question).unwrap();
        assert!(!look.is_up_to_date(&mailbox));
        look_again(&mut look);
        // A busy machine may take longer.
        let is_close = written.elapsed() < CLOSE / 2;
        assert!(!is_close || !look.is_up_to_date(&mailbox), "a change of the same moment could not be told from this one");
        std::thread::sleep(2 * CLOSE);
        look_again(&mut look);
        assert!(look.is_up_to_date(&mailbox) && !look.is_empty());
        std::fs::remove_file(&file).unwrap();
        assert!(!look.is_up_to_date(&mailbox));
        std::thread::sleep(2 * CLOSE);
        look_again(&mut look);
        assert!(!look.is_up_to_date(&mailbox), "a round is missed");
        look_again(&mut look);
        assert!(look.is_up_to_date(&mailbox) && look.is_empty());
    }
}
