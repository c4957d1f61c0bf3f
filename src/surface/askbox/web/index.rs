//! The questions that wait. Ten thousand may wait, so a file is read again only if it changed: a hint names the file, and from time to time
//! the whole folder is compared with what is known of it.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::os::unix::fs::MetadataExt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::address::HostName;
use crate::disk;
use crate::error::Result;
use crate::id::{QuestionId, WorkflowId};
use crate::mailbox::listing::list::{self, Rank};
use crate::mailbox::{Folder, Mailbox, Question, read_question, round};
use crate::surface::ask_answer::filter::{self, Looked};
use crate::surface::program;
use crate::text;
use crate::time::Time;

/// One question that waits. Its words are cut.
#[derive(Debug, Clone)]
pub struct Row {
    /// The workflow; on another machine `HOST:WORKFLOW`.
    pub id: String,
    /// Its place among those that wait.
    pub rank: Rank,
    /// What is known of its machine, if it is another one.
    pub elsewhere: Option<Arc<Elsewhere>>,
    /// Who has sent an answer to its machine, which has not decided about it.
    pub sent_by: Option<String>,
    /// The round; `None` for a file that cannot be read.
    pub question: Option<QuestionId>,
    /// The question in one line.
    pub title: String,
    /// Who asks.
    pub asked_by: String,
    /// In which project; empty where that is not known.
    pub project: String,
    /// When it was asked.
    pub asked_at: Option<Time>,
    /// When it expires.
    pub expires_at: Option<Time>,
    /// Its priority.
    pub priority: i32,
    /// How many questions it asks.
    pub parts: usize,
    /// Whether it asks to allow a tool call.
    pub is_approval: bool,
    /// Whether it replies to a question of the person's.
    pub is_reply: bool,
    /// Whether it waits for an event, not for a person.
    pub is_event: bool,
}

/// What is known of another machine.
#[derive(Debug, Clone)]
pub struct Elsewhere {
    /// Its name.
    pub host: HostName,
    /// Whether it is not reached, so that its questions may be other ones by now.
    pub is_away: bool,
    /// When it was last heard.
    pub as_of: Option<Time>,
}

impl Row {
    /// A question.
    #[must_use]
    pub fn of(id: String, question: &Question, round: Option<QuestionId>) -> Self {
        let project = question.project();
        Self {
            question: round,
            rank: Rank::of(Some(question)),
            asked_by: fitted(text::excerpt(question.asked.asked_by.as_deref().unwrap_or_default(), 40)),
            project: if project == "-" { String::new() } else { fitted(project) },
            asked_at: question.asked_at(),
            expires_at: question.asked.expires_at,
            priority: question.asked.priority.unwrap_or(0),
            parts: question.asked.questions.len().max(1),
            is_approval: question.asked.approval.is_some(),
            is_reply: question.asked.in_reply_to.is_some(),
            is_event: question.asked.until.is_some(),
            ..Self::unreadable(id, fitted(text::excerpt(&question.title(), 160)))
        }
    }

    /// A file that cannot be read.
    #[must_use]
    pub fn unreadable(id: String, title: String) -> Self {
        Self {
            id,
            rank: Rank::of(None),
            elsewhere: None,
            sent_by: None,
            question: None,
            title,
            asked_by: String::new(),
            project: String::new(),
            asked_at: None,
            expires_at: None,
            priority: 0,
            parts: 1,
            is_approval: false,
            is_reply: false,
            is_event: false,
        }
    }

    /// Whether it has all the words of a filter.
    #[must_use]
    pub fn fits(&self, filter: &str) -> bool {
        let Self { asked_by, project, title, priority, .. } = self;
        filter::fits(Looked { id: &self.id, asked_by, project, headline: title, priority: *priority }, filter)
    }
}

/// What tells that a file is another one.
type Stamp = (u64, u64, i64, i64);

/// The place of a question among those that wait.
type Place = (Rank, WorkflowId);

/// The questions that wait.
#[derive(Debug)]
pub struct Index {
    stale: Mutex<Stale>,
    known: Mutex<AllKnown>,
}

/// What may have changed since the last look.
#[derive(Debug, Default)]
struct Stale {
    anything: bool,
    workflows: HashSet<WorkflowId>,
}

#[derive(Debug, Default)]
struct AllKnown {
    files: HashMap<WorkflowId, Known>,
    ranked: BTreeMap<Place, Arc<Row>>,
    rows: Arc<Vec<Arc<Row>>>,
}

#[derive(Debug)]
struct Known {
    stamp: Stamp,
    rank: Rank,
}

/// The most files that are looked at one by one.
const MAX_NAMED: usize = 500;

impl Index {
    /// Nothing is known yet.
    #[must_use]
    pub fn new() -> Self {
        Self { stale: Mutex::new(Stale { anything: true, workflows: HashSet::new() }), known: Mutex::default() }
    }

    /// Anything may have changed.
    pub fn outdate(&self) {
        locked(&self.stale).anything = true;
    }

    /// The question of a workflow may have changed.
    pub fn outdate_one(&self, workflow: &WorkflowId) {
        let mut stale = locked(&self.stale);
        if stale.workflows.len() < MAX_NAMED {
            stale.workflows.insert(workflow.clone());
        } else {
            stale.anything = true;
        }
    }

    /// The questions that wait, the urgent first.
    pub fn rows(&self, mailbox: &Mailbox) -> Result<Arc<Vec<Arc<Row>>>> {
        // Taken before the files are looked at: what changes meanwhile is stale again.
        let Stale { anything, mut workflows } = std::mem::take(&mut *locked(&self.stale));
        if anything {
            match self.changed(mailbox) {
                Ok(changed) => workflows.extend(changed),
                Err(e) => {
                    self.outdate();
                    return Err(e);
                }
            }
        }
        let mut known = locked(&self.known);
        if !workflows.is_empty() {
            workflows.iter().for_each(|workflow| known.look_at(mailbox, workflow));
            known.rows = Arc::new(known.ranked.values().cloned().collect());
        }
        Ok(Arc::clone(&known.rows))
    }

    /// The workflows whose file is another one than at the last look. Nobody has to wait meanwhile.
    fn changed(&self, mailbox: &Mailbox) -> Result<Vec<WorkflowId>> {
        mailbox.check_in_place()?;
        let mut before: HashMap<_, _> = locked(&self.known).files.iter().map(|(id, known)| (id.clone(), known.stamp)).collect();
        let mut changed = Vec::new();
        for workflow in list::workflows(mailbox, Folder::Pending)? {
            if before.remove(&workflow) != stamp(mailbox, &workflow) {
                changed.push(workflow);
            }
        }
        changed.extend(before.into_keys());
        Ok(changed)
    }
}

impl AllKnown {
    fn look_at(&mut self, mailbox: &Mailbox, workflow: &WorkflowId) {
        let now = stamp(mailbox, workflow);
        if self.files.get(workflow).map(|known| known.stamp) == now {
            return;
        }
        if let Some(gone) = self.files.remove(workflow) {
            self.ranked.remove(&(gone.rank, workflow.clone()));
        }
        if let Some(stamp) = now
            && let Some(row) = read(mailbox, workflow)
        {
            let rank = row.rank;
            self.ranked.insert((rank, workflow.clone()), Arc::new(row));
            self.files.insert(workflow.clone(), Known { stamp, rank });
        }
    }
}

/// There may be ten thousand of them: none keeps more memory than it needs.
fn fitted(mut words: String) -> String {
    words.shrink_to_fit();
    words
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn stamp(mailbox: &Mailbox, workflow: &WorkflowId) -> Option<Stamp> {
    let meta = disk::metadata(mailbox.document(Folder::Pending, workflow)).ok()?;
    Some((meta.ino(), meta.len(), meta.mtime(), meta.mtime_nsec()))
}

/// Reads one question. `None` if it is gone.
fn read(mailbox: &Mailbox, workflow: &WorkflowId) -> Option<Row> {
    let document = match read_question::pending(mailbox, workflow) {
        Ok(document) => document,
        Err(e) if e.is_missing_file() => return None,
        Err(e) => {
            let title = text::excerpt(&format!("unreadable: {}", program::message(&e)), 200);
            return Some(Row::unreadable(workflow.to_string(), title));
        }
    };
    let question = &document.typed;
    let round = round::of_pending(mailbox, question).ok().map(|round| round.question);
    Some(Row::of(workflow.to_string(), question, round))
}
