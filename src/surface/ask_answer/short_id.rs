//! A part of an id instead of the whole, for a person at a terminal. A script's id is written out: a part that fits today fits another
//! question tomorrow.

use std::io::BufRead;

use crate::disk;
use crate::error::{Error, IoContext, Result};
use crate::id::WorkflowId;
use crate::mailbox::listing::list;
use crate::mailbox::{Folder, Mailbox, read_question};
use crate::surface::args::common::Common;
use crate::surface::program;
use crate::text;

/// The most ids that an error names.
const NAMED: usize = 5;

/// The workflow that a person means: the one of this id, else the only waiting question, or else the only answered one, whose id has this part.
///
/// # Errors
/// [`Error::Usage`] if several ids have the part; those of reading the mailbox.
pub fn meant(common: &Common, typed: &WorkflowId) -> Result<WorkflowId> {
    let mailbox = if program::is_interactive() { common.open_if_there()? } else { None };
    let Some(mailbox) = mailbox.filter(|mailbox| !is_known(mailbox, typed)) else { return Ok(typed.clone()) };
    let part = typed.as_str().to_lowercase();
    for folder in [Folder::Pending, Folder::Answered] {
        let mut found = Vec::new();
        for workflow in list::each_workflow(&mailbox, folder)? {
            let workflow = workflow?;
            if workflow.as_str().to_lowercase().contains(&part) {
                found.push(workflow);
            }
        }
        if let Some(only) = the_only(typed, found)? {
            return Ok(only);
        }
    }
    Ok(typed.clone())
}

/// The same for a decision: a part of an id may be the whole id of a question that is over, so the person sees first what is decided.
///
/// # Errors
/// Those of [`meant`]; [`Error::Conflict`] if the person does not agree.
pub fn meant_to_decide(common: &Common, typed: &WorkflowId) -> Result<WorkflowId> {
    let workflow = meant(common, typed)?;
    if workflow != *typed {
        let question = read_question::pending(&common.open()?, &workflow).map(|document| document.typed.title());
        is_meant(typed.as_str(), workflow.as_str(), question.ok().as_deref())?;
    }
    Ok(workflow)
}

/// Asks whether a part of an id stands for this question.
///
/// # Errors
/// [`Error::Conflict`] if not.
pub(crate) fn is_meant(typed: &str, whole: &str, question: Option<&str>) -> Result<()> {
    let asks = question.map_or_else(String::new, |question| format!(": {}", text::excerpt(&text::one_line(question), 200)));
    program::print(&format!("{whole}{asks}\nDo you mean this one? (y/N) "))?;
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line).io("read", "the terminal")?;
    if matches!(line.trim().to_lowercase().as_str(), "y" | "yes") {
        return Ok(());
    }
    Err(Error::conflict(format!("nothing was decided: `{typed}` is only a part of {whole}"), format!("write the whole id: {whole}")))
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
