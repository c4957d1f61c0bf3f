//! Lists the names in the mailbox's folders.
//!
//! The workflow that a misspelt id probably means. Only names are read. A large mailbox is not searched at all.

use std::ffi::{OsStr, OsString};

use crate::{Error, Folder, IoContext, Mailbox, Result, RoundId, WorkflowId, disk, spelling};

/// Returns the names in a folder, without hidden names and names that are not UTF-8. Empty if the folder does not exist.
///
/// # Errors
/// [`Error::Io`](crate::error::Error::Io) if the system refuses.
pub fn names(mailbox: &Mailbox, folder: Folder) -> Result<Vec<String>> {
    names_where(mailbox, folder, |name| !name.starts_with('.'))
}

/// [`names`] that also returns names that are not UTF-8.
///
/// # Errors
/// [`Error::Io`](crate::error::Error::Io) if the system refuses.
pub fn all_names(mailbox: &Mailbox, folder: Folder) -> Result<Vec<OsString>> {
    found(mailbox, folder, |name| !name.as_encoded_bytes().starts_with(b".")).map(Iterator::collect)?
}

/// Returns the hidden names in a folder: temporary files, and what a crash left.
///
/// # Errors
/// [`Error::Io`](crate::error::Error::Io) if the system refuses.
pub fn hidden_names(mailbox: &Mailbox, folder: Folder) -> Result<Vec<String>> {
    names_where(mailbox, folder, |name| name.starts_with('.'))
}

fn names_where(mailbox: &Mailbox, folder: Folder, wanted: impl Fn(&str) -> bool) -> Result<Vec<String>> {
    let utf8 = |name: Result<OsString>| name.map(|name| name.into_string().ok()).transpose();
    found(mailbox, folder, |name| name.to_str().is_some_and(&wanted))?.filter_map(utf8).collect()
}

fn found(mailbox: &Mailbox, folder: Folder, wanted: impl Fn(&OsStr) -> bool) -> Result<impl Iterator<Item = Result<OsString>>> {
    let path = mailbox.folder(folder);
    let names = disk::entries_if_there(&path)?.into_iter().flatten().map(move |entry| Ok(entry.io("read", &path)?.name));
    Ok(names.filter(move |name: &Result<OsString>| name.as_ref().map_or(true, |name| wanted(name))))
}

/// Returns the workflows that have a document in a folder with one document for each workflow.
///
/// # Errors
/// [`Error::Io`](crate::error::Error::Io) if the system refuses.
pub fn workflows(mailbox: &Mailbox, folder: Folder) -> Result<Vec<WorkflowId>> {
    Ok(names(mailbox, folder)?.iter().filter_map(|n| WorkflowId::from_file_name(n)).collect())
}

/// [`workflows`] one by one, because `workflows/` may hold a million.
///
/// # Errors
/// [`Error::Io`](crate::error::Error::Io) if the folder cannot be opened. An item is an error if the system cannot read that entry.
pub fn each_workflow(mailbox: &Mailbox, folder: Folder) -> Result<impl Iterator<Item = Result<WorkflowId>>> {
    let names = found(mailbox, folder, |name| !name.as_encoded_bytes().starts_with(b"."))?;
    Ok(names.filter_map(|name| name.map(|name| WorkflowId::from_file_name(name.to_str()?)).transpose()))
}

/// True if no question was ever asked here, as far as the files show.
pub fn is_unused(mailbox: &Mailbox) -> bool {
    let is_empty = |folder| each_workflow(mailbox, folder).is_ok_and(|mut found| found.next().is_none());
    [Folder::Pending, Folder::Answered, Folder::Workflows].into_iter().all(is_empty)
}

/// Returns the rounds in a folder with one document for each round. Empty if the folder cannot be read.
pub fn round_names(mailbox: &Mailbox, folder: Folder) -> impl Iterator<Item = RoundId> + use<> {
    names(mailbox, folder).unwrap_or_default().into_iter().filter_map(|n| RoundId::from_file_name(&n))
}

/// [`round_names`] one by one, because `closed/` may hold a million.
///
/// # Errors
/// [`Error::Io`](crate::error::Error::Io) if the folder cannot be opened. An item is an error if the system cannot read that entry.
pub fn each_round(mailbox: &Mailbox, folder: Folder) -> Result<impl Iterator<Item = Result<RoundId>>> {
    let names = found(mailbox, folder, |name| !name.as_encoded_bytes().starts_with(b"."))?;
    Ok(names.filter_map(|name| name.map(|name| RoundId::from_file_name(name.to_str()?)).transpose()))
}

/// The number of a workflow's newest rounds that are searched for a session or for a call, so that a long history costs no more.
pub const SEARCHED: usize = 256;

/// Returns the rounds of [`rounds_of`], the newest first.
pub fn newest_rounds_of(mailbox: &Mailbox, workflow: &WorkflowId) -> Vec<RoundId> {
    let mut rounds: Vec<_> = rounds_of(mailbox, workflow).collect();
    rounds.sort_unstable_by_key(|round| std::cmp::Reverse(round.question));
    rounds
}

/// Returns the rounds of a workflow that were claimed or closed: each has a folder in `runs/`. The cost grows only with the rounds
/// of this workflow.
pub fn rounds_of(mailbox: &Mailbox, workflow: &WorkflowId) -> impl Iterator<Item = RoundId> + use<> {
    let folder = mailbox.runs_of_workflow(workflow);
    let entries = disk::entries(&folder).ok();
    let questions = entries.into_iter().flatten().flatten().filter_map(|e| e.name.to_str()?.parse().ok());
    questions.map({
        let workflow = workflow.clone();
        move |question| RoundId { workflow: workflow.clone(), question }
    })
}

/// A mailbox with more names than this is not searched.
const MOST_NAMES: usize = 10_000;

/// Returns the beginning of a hint, such as ``did you mean `docs-42`? ``. Empty if no workflow has a similar id.
pub fn did_you_mean(mailbox: &Mailbox, misspelt: &WorkflowId) -> String {
    nearest(mailbox, misspelt).map_or_else(String::new, |meant| format!("did you mean `{meant}`? "))
}

/// The error for a workflow without any round: it never asked.
pub(crate) fn never_asked(mailbox: &Mailbox, workflow: &WorkflowId) -> Error {
    let hint = (format!("{}list the questions", did_you_mean(mailbox, workflow)), "ask-answer list");
    Error::not_found(format!("no question of {workflow} is pending"), hint)
}

fn nearest(mailbox: &Mailbox, misspelt: &WorkflowId) -> Option<WorkflowId> {
    let documents = [Folder::Pending, Folder::Answered].into_iter().filter_map(|folder| each_workflow(mailbox, folder).ok()).flatten();
    let documents = documents.filter_map(Result::ok);
    let runs = disk::entries(&mailbox.folder(Folder::Runs)).into_iter().flatten().flatten();
    let runs = runs.filter_map(|entry| entry.name.to_str()?.parse::<WorkflowId>().ok());
    let mut near = Vec::new();
    for (n, known) in documents.chain(runs).enumerate() {
        if n >= MOST_NAMES {
            return None;
        }
        if known != *misspelt && spelling::is_misspelt(misspelt.as_str(), known.as_str()) {
            near.push(known);
        }
    }
    near.into_iter().min_by_key(|known| (strsim::osa_distance(known.as_str(), misspelt.as_str()), known.clone()))
}
