//! Parents and children of workflows.
//!
//! A workflow's record names its parent. Before the first run, its open question does; before that, the parent is the workflow that
//! waits for it. The children of a parent are found by their names (`children`), and then each child's own documents are read. So
//! the cost of a tree grows with its members, not with the mailbox.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use crate::layout::CHILDREN_ARE_NOTED;
use crate::{Folder, Mailbox, Question, Result, Time, WorkflowId, awaits, children, disk, list, read_question, workflows};

/// The longest line of ancestors that is followed. Damaged records may name each other as parents.
const LONGEST: usize = 10_000;

/// Returns the parent of a workflow, according to its record.
///
/// # Errors
/// Those of [`workflows::read`].
pub fn parent(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<Option<WorkflowId>> {
    Ok(workflows::read(mailbox, workflow)?.and_then(|d| d.typed.parent))
}

/// Returns the ancestors of a workflow, its parent first.
///
/// # Errors
/// Those of [`workflows::read`].
pub fn ancestors(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<Vec<WorkflowId>> {
    let (mut line, mut seen, mut at) = (Vec::new(), HashSet::new(), workflow.clone());
    while let Some(above) = parent(mailbox, &at)? {
        if above == *workflow || line.len() >= LONGEST || !seen.insert(above.clone()) {
            break;
        }
        line.push(above.clone());
        at = above;
    }
    Ok(line)
}

/// Returns the root of the tree that a workflow belongs to: its last ancestor, or the workflow itself.
///
/// # Errors
/// Those of [`workflows::read`].
pub fn root(mailbox: &Mailbox, workflow: &WorkflowId) -> Result<WorkflowId> {
    Ok(ancestors(mailbox, workflow)?.pop().unwrap_or_else(|| workflow.clone()))
}

/// True if a workflow is `root`, or if its line of parents leads to `root`.
pub fn is_at_or_below(mailbox: &Mailbox, root: &WorkflowId, workflow: &WorkflowId) -> bool {
    let (mut seen, mut at) = (HashSet::new(), workflow.clone());
    while at != *root {
        let Some(parent) = kin(mailbox, &at).parent else { return false };
        if seen.len() >= LONGEST || !seen.insert(at) {
            return false;
        }
        at = parent;
    }
    true
}

/// The family of a workflow, as far as its own documents tell it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Kin {
    /// The parent: this workflow began in one of its runs.
    pub parent: Option<WorkflowId>,
    /// The time when the workflow began, if known.
    pub born: Option<Time>,
    /// True if the workflow has a record or an open question.
    pub is_known: bool,
}

/// Reads a workflow's record. Skips one that cannot be read.
fn on_record(mailbox: &Mailbox, workflow: &WorkflowId) -> Kin {
    match workflows::read(mailbox, workflow) {
        Ok(None) => Kin::default(),
        Ok(Some(record)) => Kin { parent: record.typed.parent, born: record.typed.created, is_known: true },
        Err(_) => Kin { is_known: true, ..Kin::default() },
    }
}

/// [`kin`] of a workflow whose pending question was read already.
pub fn kin_of_asking(mailbox: &Mailbox, question: &Question) -> Kin {
    let kin = on_record(mailbox, &question.workflow_id);
    Kin { parent: kin.parent.or_else(|| question.parent.clone()), born: kin.born.or(question.asked_at()), is_known: true }
}

/// Reads a workflow's record and, if the record leaves something open, its open question. Skips a document that cannot be read.
pub fn kin(mailbox: &Mailbox, workflow: &WorkflowId) -> Kin {
    let mut kin = on_record(mailbox, workflow);
    for folder in [Folder::Pending, Folder::Answered] {
        if kin.parent.is_some() && kin.born.is_some() {
            break;
        }
        match read_question::document(&mailbox.document(folder, workflow)) {
            Ok(document) => {
                kin.is_known = true;
                kin.born = kin.born.or(document.typed.asked_at());
                kin.parent = kin.parent.take().or(document.typed.parent);
            }
            Err(e) => kin.is_known |= !e.is_missing_file(),
        }
    }
    kin
}

/// Children by their parents, as documents name them.
pub type Links = BTreeMap<WorkflowId, BTreeSet<WorkflowId>>;

/// Finds the children of workflows.
#[derive(Debug)]
pub struct Family<'a> {
    mailbox: &'a Mailbox,
    /// Children that may be missing among their parents' names.
    unnoted: Links,
}

impl<'a> Family<'a> {
    /// Returns a `Family` that finds children by their names. In a mailbox from before these names, makes all of them first.
    ///
    /// # Errors
    /// [`Error::Io`](crate::error::Error::Io) if the system refuses.
    pub fn by_names(mailbox: &'a Mailbox) -> Result<Self> {
        Ok(Self { mailbox, unnoted: make_names(mailbox)? })
    }

    /// [`by_names`](Self::by_names) that also knows children that may not be among the names yet, as those of a question that was written by
    /// hand.
    ///
    /// # Errors
    /// [`Error::Io`](crate::error::Error::Io) if the system refuses.
    pub fn with_links(mailbox: &'a Mailbox, links: Links) -> Result<Self> {
        let mut family = Self::by_names(mailbox)?;
        for (parent, children) in links {
            family.unnoted.entry(parent).or_default().extend(children);
        }
        Ok(family)
    }

    /// [`by_names`](Self::by_names) that also reads every open question.
    ///
    /// # Errors
    /// [`Error::Io`](crate::error::Error::Io) if the system refuses.
    pub fn with_open_questions(mailbox: &'a Mailbox) -> Result<Self> {
        Self::with_links(mailbox, of_open_questions(mailbox)?)
    }

    /// Returns the children of a workflow, the oldest first.
    ///
    /// # Errors
    /// [`Error::Io`](crate::error::Error::Io) if the system refuses.
    pub fn children(&self, parent: &WorkflowId) -> Result<Vec<WorkflowId>> {
        self.children_by(parent, |child| kin(self.mailbox, child))
    }

    /// [`children`](Self::children) for a caller that knows what the children's documents say.
    ///
    /// # Errors
    /// [`Error::Io`](crate::error::Error::Io) if the system refuses.
    pub fn children_by(&self, parent: &WorkflowId, kin: impl Fn(&WorkflowId) -> Kin) -> Result<Vec<WorkflowId>> {
        let mailbox = self.mailbox;
        let awaited: BTreeSet<WorkflowId> = awaits::children(mailbox, parent)?.into_iter().collect();
        let mut names = awaited.clone();
        names.extend(children::noted(mailbox, parent));
        names.extend(self.unnoted.get(parent).into_iter().flatten().cloned());
        let mut children = Vec::new();
        for child in names {
            let kin = kin(&child);
            if kin.parent.as_ref().map_or_else(|| awaited.contains(&child), |is| is == parent) {
                children.push((kin.born, child));
            }
        }
        children.sort_unstable();
        Ok(children.into_iter().map(|(_, child)| child).collect())
    }

    /// Returns a workflow and all its descendants, parents before their children.
    ///
    /// # Errors
    /// [`Error::Io`](crate::error::Error::Io) if the system refuses.
    pub fn members(&self, root: &WorkflowId) -> Result<Vec<WorkflowId>> {
        let (mut found, mut seen) = (vec![root.clone()], HashSet::from([root.clone()]));
        let mut next = 0;
        while let Some(at) = found.get(next) {
            let below = self.children(at)?;
            found.extend(below.into_iter().filter(|child| seen.insert(child.clone())));
            next += 1;
        }
        Ok(found)
    }
}

/// Returns a workflow and all its descendants, parents before their children.
///
/// # Errors
/// [`Error::Io`](crate::error::Error::Io) if the system refuses.
pub fn members(mailbox: &Mailbox, root: &WorkflowId) -> Result<Vec<WorkflowId>> {
    Family::by_names(mailbox)?.members(root)
}

/// Makes the names of all children, once for each mailbox, and then creates the mark `locks/children`. Returns the children that
/// may still have no name. The result is empty if the mark existed before.
///
/// # Errors
/// [`Error::Io`](crate::error::Error::Io) if the system refuses.
pub fn make_names(mailbox: &Mailbox) -> Result<Links> {
    let mark = mailbox.lock_file(CHILDREN_ARE_NOTED);
    if disk::exists(&mark) {
        return Ok(Links::new());
    }
    let mut links = of_open_questions(mailbox)?;
    for child in list::workflows(mailbox, Folder::Workflows)? {
        // A record that cannot be read does not count.
        if let Ok(Some(parent)) = parent(mailbox, &child) {
            links.entry(parent).or_default().insert(child);
        }
    }
    let note = || {
        links.iter().flat_map(|(parent, below)| below.iter().map(move |child| (parent, child))).try_for_each(|(parent, child)| {
            if children::is_noted(mailbox, parent, child) { Ok(()) } else { children::note(mailbox, parent, child) }
        })?;
        disk::sync_filesystem(&mailbox.folder(Folder::Runs))?;
        disk::touch(&mark)
    };
    // A mailbox that cannot be written can still be read. The next program tries again.
    let _ = note();
    Ok(links)
}

/// Returns the parents that pending, answered and claimed questions name.
fn of_open_questions(mailbox: &Mailbox) -> Result<Links> {
    let mut links = Links::new();
    let mut add = |child: WorkflowId, path: std::path::PathBuf| {
        if let Ok(document) = read_question::document(&path)
            && let Some(parent) = document.typed.parent
        {
            links.entry(parent).or_default().insert(child);
        }
    };
    for folder in [Folder::Pending, Folder::Answered] {
        for child in list::workflows(mailbox, folder)? {
            let path = mailbox.document(folder, &child);
            add(child, path);
        }
    }
    for round in list::round_names(mailbox, Folder::Running) {
        let path = mailbox.round(Folder::Running, &round);
        add(round.workflow, path);
    }
    Ok(links)
}
