//! A part of an id instead of the whole, for a person at a terminal. A script's id is written out: a part that fits today fits another
//! question tomorrow.

use crate::disk;
use crate::error::{Error, Result};
use crate::id::WorkflowId;
use crate::mailbox::listing::list;
use crate::mailbox::{Folder, Mailbox};
use crate::surface::args::common::Common;
use crate::surface::program;
use crate::text;

/// The most ids that an error names.
const NAMED: usize = 5;

/// The workflow that a person means: the one of this id, else the only one with a waiting or answered question whose id has this part.
///
/// # Errors
/// [`Error::Usage`] if several ids have the part; those of reading the mailbox.
pub fn meant(common: &Common, typed: &WorkflowId) -> Result<WorkflowId> {
    let mailbox = if program::is_interactive() { common.open_if_there()? } else { None };
    let Some(mailbox) = mailbox.filter(|mailbox| !is_known(mailbox, typed)) else { return Ok(typed.clone()) };
    let part = typed.as_str().to_lowercase();
    let mut found = Vec::new();
    for folder in [Folder::Pending, Folder::Answered] {
        for workflow in list::each_workflow(&mailbox, folder)? {
            let workflow = workflow?;
            if workflow.as_str().to_lowercase().contains(&part) && !found.contains(&workflow) {
                found.push(workflow);
            }
        }
    }
    Ok(the_only(typed, found)?.unwrap_or_else(|| typed.clone()))
}

/// The workflow of another machine that a person means, of those that wait there: the same rules.
///
/// # Errors
/// [`Error::Usage`] if several ids have the part.
#[cfg(feature = "askbox")]
pub(crate) fn meant_of<'a>(typed: &WorkflowId, waiting: impl Iterator<Item = &'a WorkflowId> + Clone) -> Result<Option<WorkflowId>> {
    if !program::is_interactive() || waiting.clone().any(|workflow| workflow == typed) {
        return Ok(None);
    }
    let part = typed.as_str().to_lowercase();
    the_only(typed, waiting.filter(|workflow| workflow.as_str().to_lowercase().contains(&part)).cloned().collect())
}

fn the_only(typed: &WorkflowId, mut found: Vec<WorkflowId>) -> Result<Option<WorkflowId>> {
    found.sort();
    match found.as_slice() {
        [] => Ok(None),
        [only] => Ok(Some(only.clone())),
        several => {
            let named: Vec<_> = several.iter().take(NAMED).map(|id| text::excerpt(id.as_str(), 60)).collect();
            let more = if several.len() > NAMED { format!(" and {} more", several.len() - NAMED) } else { String::new() };
            Err(Error::usage(
                format!("`{typed}` is a part of {} ids: {}{more}", several.len(), named.join(", ")),
                "write more of the id that you mean",
            ))
        }
    }
}

fn is_known(mailbox: &Mailbox, workflow: &WorkflowId) -> bool {
    let waits = [Folder::Pending, Folder::Answered].into_iter().any(|folder| disk::exists(mailbox.document(folder, workflow)));
    waits || disk::exists(mailbox.runs_of_workflow(workflow))
}
