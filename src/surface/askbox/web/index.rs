//! The questions that wait. Ten thousand may wait, so a file is read again only if it changed: a hint names the file, and from time to time
//! the whole folder is compared with what is known of it.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::os::unix::fs::MetadataExt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::disk;
use crate::error::Result;
use crate::id::{QuestionId, WorkflowId};
use crate::mailbox::list::{self, Rank};
use crate::mailbox::{Folder, Mailbox, read_question, round};
use crate::surface::ask_answer::filter::{self, Looked};
use crate::surface::program;
use crate::text;
use crate::time::Time;

/// One question that waits. Its words are cut.
#[derive(Debug, Clone)]
pub struct Row {
    /// The workflow.
    pub workflow: WorkflowId,
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

impl Row {
    fn blank(workflow: &WorkflowId, title: String) -> Self {
        Self {
            workflow: workflow.clone(),
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
        filter::fits(Looked { id: self.workflow.as_str(), asked_by, project, headline: title, priority: *priority }, filter)
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
    place: Place,
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
            self.ranked.remove(&gone.place);
        }
        if let Some(stamp) = now
            && let Some((place, row)) = read(mailbox, workflow)
        {
            self.ranked.insert(place.clone(), Arc::new(row));
            self.files.insert(workflow.clone(), Known { stamp, place });
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn stamp(mailbox: &Mailbox, workflow: &WorkflowId) -> Option<Stamp> {
    let meta = disk::metadata(mailbox.document(Folder::Pending, workflow)).ok()?;
    Some((meta.ino(), meta.len(), meta.mtime(), meta.mtime_nsec()))
}

/// Reads one question. `None` if it is gone.
fn read(mailbox: &Mailbox, workflow: &WorkflowId) -> Option<(Place, Row)> {
    let document = match read_question::pending(mailbox, workflow) {
        Ok(document) => document,
        Err(e) if e.is_missing_file() => return None,
        Err(e) => {
            let title = format!("unreadable: {}", program::message(&e));
            return Some(((Rank::of(None), workflow.clone()), Row::blank(workflow, text::excerpt(&title, 200))));
        }
    };
    let question = &document.typed;
    let project = question.project();
    let row = Row {
        question: round::of_pending(mailbox, question).ok().map(|round| round.question),
        asked_by: text::excerpt(question.asked_by.as_deref().unwrap_or_default(), 40),
        project: if project == "-" { String::new() } else { project },
        asked_at: question.asked_at(),
        expires_at: question.expires_at,
        priority: question.priority.unwrap_or(0),
        parts: question.questions.len().max(1),
        is_approval: question.approval.is_some(),
        is_reply: question.in_reply_to.is_some(),
        is_event: question.until.is_some(),
        ..Row::blank(workflow, text::excerpt(&question.title(), 160))
    };
    Some(((Rank::of(Some(question)), workflow.clone()), row))
}
