//! Lists the names in the mailbox's folders, and the pending questions.

use std::cmp::Reverse;
use std::ffi::{OsStr, OsString};

use crate::disk;
use crate::error::{IoContext, Result};
use crate::id::{RoundId, WorkflowId};
use crate::mailbox::documents::question::{Question, QuestionDocument};
use crate::mailbox::layout::{Folder, Mailbox};
use crate::mailbox::read_question;
use crate::time::Time;

/// The names in a folder, without hidden ones and those that are not UTF-8. A missing folder has no names.
pub fn names(mailbox: &Mailbox, folder: Folder) -> Result<Vec<String>> {
    names_where(mailbox, folder, |name| !name.starts_with('.'))
}

/// [`names`], those that are not UTF-8 included.
pub fn all_names(mailbox: &Mailbox, folder: Folder) -> Result<Vec<OsString>> {
    found(mailbox, folder, |name| !name.as_encoded_bytes().starts_with(b".")).map(Iterator::collect)?
}

/// The hidden names in a folder: temporary files, and what a crash left.
pub fn hidden_names(mailbox: &Mailbox, folder: Folder) -> Result<Vec<String>> {
    names_where(mailbox, folder, |name| name.starts_with('.'))
}

fn names_where(mailbox: &Mailbox, folder: Folder, wanted: impl Fn(&str) -> bool) -> Result<Vec<String>> {
    let utf8 = |name: Result<OsString>| name.map(|name| name.into_string().ok()).transpose();
    found(mailbox, folder, |name| name.to_str().is_some_and(&wanted))?.filter_map(utf8).collect()
}

fn found(mailbox: &Mailbox, folder: Folder, wanted: impl Fn(&OsStr) -> bool) -> Result<impl Iterator<Item = Result<OsString>>> {
    let path = mailbox.folder(folder);
    let entries = match disk::entries(&path) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => None,
        other => Some(other.io("read", &path)?),
    };
    let names = entries.into_iter().flatten().map(move |entry| Ok(entry.io("read", &path)?.name));
    Ok(names.filter(move |name: &Result<OsString>| name.as_ref().map_or(true, |name| wanted(name))))
}

/// The workflows with a document in a folder that holds one document per workflow.
pub fn workflows(mailbox: &Mailbox, folder: Folder) -> Result<Vec<WorkflowId>> {
    Ok(names(mailbox, folder)?.iter().filter_map(|n| WorkflowId::from_file_name(n)).collect())
}

/// [`workflows`] one by one: `workflows/` may hold a million.
pub fn each_workflow(mailbox: &Mailbox, folder: Folder) -> Result<impl Iterator<Item = Result<WorkflowId>>> {
    let names = found(mailbox, folder, |name| !name.as_encoded_bytes().starts_with(b"."))?;
    Ok(names.filter_map(|name| name.map(|name| WorkflowId::from_file_name(name.to_str()?)).transpose()))
}

/// Whether no question was ever asked here, as far as the files tell.
#[must_use]
pub fn is_unused(mailbox: &Mailbox) -> bool {
    let is_empty = |folder| each_workflow(mailbox, folder).is_ok_and(|mut found| found.next().is_none());
    [Folder::Pending, Folder::Answered, Folder::Workflows].into_iter().all(is_empty)
}

/// The rounds in a folder that holds one document per round. A folder that cannot be read has none.
pub fn round_names(mailbox: &Mailbox, folder: Folder) -> impl Iterator<Item = RoundId> + use<> {
    names(mailbox, folder).unwrap_or_default().into_iter().filter_map(|n| RoundId::from_file_name(&n))
}

/// [`round_names`] one by one: `closed/` may hold a million. A folder that cannot be read is an error.
pub fn each_round(mailbox: &Mailbox, folder: Folder) -> Result<impl Iterator<Item = Result<RoundId>>> {
    let names = found(mailbox, folder, |name| !name.as_encoded_bytes().starts_with(b"."))?;
    Ok(names.filter_map(|name| name.map(|name| RoundId::from_file_name(name.to_str()?)).transpose()))
}

/// The rounds of a workflow that were claimed or closed: those with a folder in `runs/`. The cost grows with the rounds of this
/// workflow only.
pub fn rounds_of(mailbox: &Mailbox, workflow: &WorkflowId) -> impl Iterator<Item = RoundId> + use<> {
    let folder = mailbox.runs_of_workflow(workflow);
    let entries = disk::entries(&folder).ok();
    let questions = entries.into_iter().flatten().flatten().filter_map(|e| e.name.to_str()?.parse().ok());
    questions.map({
        let workflow = workflow.clone();
        move |question| RoundId { workflow: workflow.clone(), question }
    })
}

/// One entry of the inbox.
#[derive(Debug)]
pub struct Pending {
    /// The workflow that asks.
    pub workflow: WorkflowId,
    /// The question, or the reason why it cannot be read.
    pub document: Result<QuestionDocument>,
}

/// What `row` makes of every pending question: those of larger `priority` first, then the oldest; last those that wait for no person. One document is read at a time, and only
/// the rows are kept.
pub fn pending<Row>(mailbox: &Mailbox, row: impl Fn(Pending) -> Row) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for workflow in workflows(mailbox, Folder::Pending)? {
        let pending = Pending { document: read_question::pending(mailbox, &workflow), workflow };
        if matches!(&pending.document, Err(e) if e.is_missing_file()) {
            continue;
        }
        let key = (Rank::of(pending.document.as_ref().ok().map(|d| &d.typed)), pending.workflow.clone());
        rows.push((key, row(pending)));
    }
    rows.sort_by(|(one, _), (other, _)| one.cmp(other));
    Ok(rows.into_iter().map(|(_, row)| row).collect())
}

/// The place of a question among those that wait: a larger `priority` first, then the oldest; last those that wait for no person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank(bool, Reverse<i32>, Option<Time>);

impl Rank {
    /// That of a question; of one that cannot be read, with `None`.
    #[must_use]
    pub fn of(question: Option<&Question>) -> Self {
        let waits = question.is_some_and(|q| q.asked.until.is_some());
        Self(waits, Reverse(question.and_then(|q| q.asked.priority).unwrap_or(0)), question.and_then(Question::asked_at))
    }
}
