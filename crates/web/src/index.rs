//! The waiting questions. There may be ten thousand of them, so a file is read again only if it has changed.
//!
//! A hint comes a moment after the change, and a person may load the page before it. So the time of the folder is looked at too. If there was
//! a hint, or if the time has changed, the files in the folder are compared with the known ones.

use std::collections::{HashMap, HashSet};
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use askbox_cli::ask_answer::filter::Facts;
use askbox_cli::program;
use askbox_mailbox::family::lineage::Kin;
use askbox_mailbox::overview::waiting::Rank;
use askbox_mailbox::{
    Folder, HostName, Mailbox, Question, QuestionId, Result, Time, WorkflowId, disk, lineage, list, round, settle, text, thread,
};

/// One waiting question. Its texts are shortened.
#[derive(Debug, Clone)]
pub struct Row {
    /// The workflow, or `HOST:WORKFLOW` on another machine.
    pub id: String,
    /// Its position among the waiting questions.
    pub rank: Rank,
    /// The state of its machine, if that is another one.
    pub elsewhere: Option<Arc<OtherMachine>>,
    /// The person who has sent an answer that its machine has not decided about yet.
    pub sent_by: Option<String>,
    pub facts: Facts,
}

/// The state of another machine.
#[derive(Debug, Clone, PartialEq)]
pub struct OtherMachine {
    /// Its name.
    pub host: HostName,
    /// True if the machine is not reached, so that its questions may have changed.
    pub is_away: bool,
    /// The time of its last report.
    pub as_of: Option<Time>,
}

impl Row {
    /// The row of a question. `mailbox` is `None` for a question of another machine.
    pub fn from_question(mailbox: Option<&Mailbox>, id: String, question: &Question, round: Option<QuestionId>) -> Self {
        let (rank, facts) = (Rank::of_question(Some(question)), Facts::of(mailbox, question, round));
        Self { id, rank, elsewhere: None, sent_by: None, facts }
    }

    /// The row of a file that cannot be read.
    pub fn unreadable(id: String, title: String) -> Self {
        let facts = Facts { title, parts: 1, ..Facts::default() };
        Self { id, rank: Rank::of_question(None), elsewhere: None, sent_by: None, facts }
    }
}

/// The properties of a file that show if it has changed.
type Stamp = (u64, u64, i64, i64);

/// The questions that wait.
#[derive(Debug, Default)]
pub struct Index {
    /// True if a file may have changed since the last look.
    is_outdated: AtomicBool,
    /// Held for the time of a look, so that nobody gets the rows while another one still reads what has changed.
    known: Mutex<Known>,
}

/// Two changes of a folder within this time may give it the same time: the clock of most file systems ticks every 4 or 10 milliseconds.
const TICK: Duration = Duration::from_millis(20);

#[derive(Debug, Default)]
struct Known {
    /// The time of the folder at the last look, or `None` if a later change may have the same time.
    folder: Option<SystemTime>,
    files: HashMap<WorkflowId, KnownFile>,
    rows: Arc<Vec<Arc<Row>>>,
}

#[derive(Debug)]
struct KnownFile {
    stamp: Stamp,
    row: Arc<Row>,
    /// The parent and the age of the workflow, from when the question was read. A later run's record may name another parent, but then
    /// the question is no longer there.
    kin: Kin,
}

impl Index {
    /// Notes that a question may have changed.
    pub fn outdate(&self) {
        self.is_outdated.store(true, Ordering::Relaxed);
    }

    /// The waiting questions, the urgent ones first.
    pub fn rows(&self, mailbox: &Mailbox) -> Result<Arc<Vec<Arc<Row>>>> {
        let mut known = thread::locked(&self.known);
        // Both are taken before the files are checked, so that later changes count as stale again.
        let (folder, is_outdated) = (folder_time(mailbox), self.is_outdated.swap(false, Ordering::Relaxed));
        if is_outdated || folder.is_none() || folder != known.folder {
            known.look(mailbox).inspect_err(|_| self.outdate())?;
            known.folder = folder;
        }
        Ok(Arc::clone(&known.rows))
    }

    /// The parent and the age of a workflow with a waiting question, as of the last look.
    pub fn kin(&self, workflow: &WorkflowId) -> Option<Kin> {
        thread::locked(&self.known).files.get(workflow).map(|known| known.kin.clone())
    }
}

impl Known {
    /// Reads the files that have changed since the last look.
    fn look(&mut self, mailbox: &Mailbox) -> Result<()> {
        mailbox.check_in_place()?;
        let there: HashSet<_> = list::workflows(mailbox, Folder::Pending)?.into_iter().collect();
        let before = self.files.len();
        self.files.retain(|workflow, _| there.contains(workflow));
        let mut has_changed = self.files.len() < before;
        for workflow in there {
            let now = stamp(mailbox, &workflow);
            if self.files.get(&workflow).map(|known| known.stamp) == now {
                continue;
            }
            has_changed = true;
            self.files.remove(&workflow);
            if let Some(stamp) = now
                && let Some((row, kin)) = read(mailbox, &workflow)
            {
                self.files.insert(workflow, KnownFile { stamp, row: Arc::new(row), kin });
            }
        }
        if has_changed {
            let mut rows: Vec<Arc<Row>> = self.files.values().map(|known| Arc::clone(&known.row)).collect();
            rows.sort_unstable_by(|one, other| (one.rank, &one.id).cmp(&(other.rank, &other.id)));
            self.rows = Arc::new(rows);
        }
        Ok(())
    }
}

/// The time of the folder, or `None` if a change that comes now may leave it as it is.
fn folder_time(mailbox: &Mailbox) -> Option<SystemTime> {
    let changed_at = disk::metadata(mailbox.folder(Folder::Pending)).and_then(|meta| meta.modified()).ok()?;
    (changed_at.elapsed().ok()? > TICK).then_some(changed_at)
}

fn stamp(mailbox: &Mailbox, workflow: &WorkflowId) -> Option<Stamp> {
    let meta = disk::metadata(mailbox.document(Folder::Pending, workflow)).ok()?;
    Some((meta.ino(), meta.len(), meta.mtime(), meta.mtime_nsec()))
}

/// Reads one question. `None` if it is gone.
fn read(mailbox: &Mailbox, workflow: &WorkflowId) -> Option<(Row, Kin)> {
    let document = match settle::waiting(mailbox, workflow) {
        Ok(document) => document,
        Err(e) if e.is_missing_file() => return None,
        Err(e) => {
            let title = text::excerpt(&format!("unreadable: {}", program::message(&e)), 200);
            return Some((Row::unreadable(workflow.to_string(), title), lineage::kin(mailbox, workflow)));
        }
    };
    let question = &document.typed;
    let round = round::of_pending(mailbox, question).ok().map(|round| round.question);
    Some((Row::from_question(Some(mailbox), workflow.to_string(), question, round), lineage::kin_of_asking(mailbox, question)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(index: &Index, mailbox: &Mailbox) -> Vec<String> {
        index.rows(mailbox).unwrap().iter().map(|row| row.id.clone()).collect()
    }

    #[test]
    fn a_question_comes_and_goes_before_its_hint_has_come() {
        let folder = tempfile::tempdir().unwrap();
        let mailbox = Mailbox::open_or_create(folder.path().join("m")).unwrap();
        let index = Index::default();
        assert!(ids(&index, &mailbox).is_empty());
        let file = |id: &str| mailbox.document(Folder::Pending, &id.parse().unwrap());
        for id in ["one", "two"] {
            disk::replace(&file(id), b"{}").unwrap();
            assert!(ids(&index, &mailbox).contains(&id.to_owned()), "{id} is not listed");
        }
        disk::remove(&file("one")).unwrap();
        assert_eq!(ids(&index, &mailbox), ["two"]);
    }
}
