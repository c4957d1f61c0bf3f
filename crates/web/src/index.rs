//! The waiting questions. There may be ten thousand of them, so a file is read again only if it has changed. A hint names the file. From
//! time to time, the whole folder is compared with the known files.
//!
//! A hint comes a moment after the change, and a person may load the page before it. So the time of the folder is looked at too. If it has
//! changed, the names in the folder are compared with the known ones.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::os::unix::fs::MetadataExt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use askbox_cli::ask_answer::filter::Facts;
use askbox_cli::program;
use askbox_mailbox::address::HostName;
use askbox_mailbox::family::lineage::{self, Kin};
use askbox_mailbox::listing::list::{self, Rank};
use askbox_mailbox::transitions::settle;
use askbox_mailbox::{Folder, Mailbox, Question, QuestionId, Result, Time, WorkflowId, disk, round, text};

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

/// The position of a question among the waiting ones.
type Place = (Rank, WorkflowId);

/// The questions that wait.
#[derive(Debug)]
pub struct Index {
    stale: Mutex<Stale>,
    known: Mutex<KnownFiles>,
    /// Held for the time of a look, so that nobody gets the rows while another one still reads what has changed. Holds the time of the
    /// folder at the last look, or `None` if a later change may have the same time.
    looking: Mutex<Option<SystemTime>>,
}

/// Two changes of a folder within this time may give it the same time: the clock of most file systems ticks every 4 or 10 milliseconds.
const TICK: Duration = Duration::from_millis(20);

/// The parts that may have changed since the last look.
#[derive(Debug, Default)]
struct Stale {
    anything: bool,
    workflows: HashSet<WorkflowId>,
}

#[derive(Debug, Default)]
struct KnownFiles {
    /// By the text of their workflow.
    files: HashMap<String, KnownFile>,
    ranked: BTreeMap<Place, Arc<Row>>,
    rows: Arc<Vec<Arc<Row>>>,
}

#[derive(Debug)]
struct KnownFile {
    stamp: Stamp,
    rank: Rank,
    /// The parent and the age of the workflow, from when the question was read. A later run's record may name another parent, but then
    /// the question is no longer there.
    kin: Kin,
}

/// The maximum number of files that are checked one by one. If more have changed, the whole folder is compared.
const MAX_NAMED: usize = 500;

impl Index {
    /// An index that knows nothing yet.
    pub fn new() -> Self {
        Self { stale: Mutex::new(Stale { anything: true, workflows: HashSet::new() }), known: Mutex::default(), looking: Mutex::default() }
    }

    /// Notes that anything may have changed.
    pub fn outdate(&self) {
        locked(&self.stale).anything = true;
    }

    /// Notes that the question of this workflow may have changed.
    pub fn outdate_one(&self, workflow: &WorkflowId) {
        let mut stale = locked(&self.stale);
        if stale.workflows.len() < MAX_NAMED {
            stale.workflows.insert(workflow.clone());
        } else {
            stale.anything = true;
        }
    }

    /// The waiting questions, the urgent ones first.
    pub fn rows(&self, mailbox: &Mailbox) -> Result<Arc<Vec<Arc<Row>>>> {
        let mut last_look = locked(&self.looking);
        // Both are taken before the files are checked, so that later changes count as stale again.
        let folder_time = folder_time(mailbox);
        let Stale { anything, workflows } = std::mem::take(&mut *locked(&self.stale));
        self.look_at(mailbox, &workflows);
        let changed = if anything {
            self.changed(mailbox)
        } else if folder_time.is_none() || folder_time != *last_look {
            self.come_and_gone(mailbox)
        } else {
            Ok(Vec::new())
        };
        match changed {
            Ok(changed) => self.look_at(mailbox, &changed),
            Err(e) => {
                self.outdate();
                return Err(e);
            }
        }
        *last_look = folder_time;
        Ok(Arc::clone(&locked(&self.known).rows))
    }

    fn look_at<'a>(&self, mailbox: &Mailbox, workflows: impl IntoIterator<Item = &'a WorkflowId>) {
        let mut known = locked(&self.known);
        let looked = workflows.into_iter().map(|workflow| known.look_at(mailbox, workflow)).count();
        if looked > 0 {
            known.rows = Arc::new(known.ranked.values().cloned().collect());
        }
    }

    /// The parent and the age of a workflow with a waiting question, as of the last look.
    pub fn kin(&self, workflow: &WorkflowId) -> Option<Kin> {
        locked(&self.known).files.get(workflow.as_str()).map(|known| known.kin.clone())
    }

    /// The workflows with a file that is not known, and those whose known file is gone. Most often there are none.
    fn come_and_gone(&self, mailbox: &Mailbox) -> Result<Vec<WorkflowId>> {
        mailbox.check_in_place()?;
        let there = list::names(mailbox, Folder::Pending)?;
        let known = locked(&self.known);
        let is_known = |name: &String| name.strip_suffix(".json").is_some_and(|id| known.files.contains_key(id));
        let (known_names, others): (Vec<_>, Vec<_>) = there.iter().partition(|name| is_known(name));
        let mut changed: Vec<_> = others.into_iter().filter_map(|name| WorkflowId::from_file_name(name)).collect();
        if known_names.len() < known.files.len() {
            let there: HashSet<_> = known_names.into_iter().filter_map(|name| name.strip_suffix(".json")).collect();
            changed.extend(known.files.keys().filter(|workflow| !there.contains(workflow.as_str())).filter_map(|gone| gone.parse().ok()));
        }
        Ok(changed)
    }

    /// The workflows whose file has changed since the last look.
    fn changed(&self, mailbox: &Mailbox) -> Result<Vec<WorkflowId>> {
        mailbox.check_in_place()?;
        let mut before: HashMap<_, _> = locked(&self.known).files.iter().map(|(id, known)| (id.clone(), known.stamp)).collect();
        let mut changed = Vec::new();
        for workflow in list::workflows(mailbox, Folder::Pending)? {
            if before.remove(workflow.as_str()) != stamp(mailbox, &workflow) {
                changed.push(workflow);
            }
        }
        changed.extend(before.into_keys().filter_map(|gone| gone.parse().ok()));
        Ok(changed)
    }
}

impl KnownFiles {
    fn look_at(&mut self, mailbox: &Mailbox, workflow: &WorkflowId) {
        let now = stamp(mailbox, workflow);
        if self.files.get(workflow.as_str()).map(|known| known.stamp) == now {
            return;
        }
        if let Some(gone) = self.files.remove(workflow.as_str()) {
            self.ranked.remove(&(gone.rank, workflow.clone()));
        }
        if let Some(stamp) = now
            && let Some((row, kin)) = read(mailbox, workflow)
        {
            let rank = row.rank;
            self.ranked.insert((rank, workflow.clone()), Arc::new(row));
            self.files.insert(workflow.to_string(), KnownFile { stamp, rank, kin });
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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
        let index = Index::new();
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
