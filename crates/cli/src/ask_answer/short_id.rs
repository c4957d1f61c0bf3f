//! Accepts a part of an id for the whole id, from a person at a terminal. A script must write the id out: a part that matches one question
//! today may match another tomorrow.

use crate::args::ask_answer_args::ReplyArgs;
use crate::{Common, program};
use askbox_mailbox::{Error, Folder, Mailbox, Result, WorkflowId, disk, list, read_question, text};

/// The maximum number of ids that an error names.
const NAMED: usize = 5;

/// The workflow that a person means. This is the workflow with this exact id. If there is none, it is the only waiting question whose id
/// contains this part, or else the only answered one.
///
/// # Errors
/// [`Error::Usage`] if several ids contain the part; any error of reading the mailbox.
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

/// Like [`meant`], for a decision. The part may also be the whole id of a question that is over, so the person first sees which question is
/// decided, and what `decides` it.
///
/// # Errors
/// The errors of [`meant`]; [`Error::Conflict`] if the person does not agree.
pub fn meant_to_decide(common: &Common, typed: &WorkflowId, decides: &str) -> Result<WorkflowId> {
    let workflow = meant(common, typed)?;
    if workflow != *typed {
        let question = read_question::pending(&common.open()?, &workflow).map(|document| document.typed.title());
        is_meant(typed.as_str(), workflow.as_str(), question.ok().as_deref(), decides)?;
    }
    Ok(workflow)
}

/// The answer on the command line, as the question about a part of an id names it.
pub fn answer_in_words(reply: &ReplyArgs, words: &[String]) -> String {
    match &reply.file {
        Some(file) => format!("answer: what {} holds", text::file_name(file)),
        None => format!("answer: {}", words.join(" ")),
    }
}

/// Asks whether a part of an id stands for this question. `decides` says what is done, such as `answer: yes`.
///
/// # Errors
/// [`Error::Conflict`] if not.
pub fn is_meant(typed: &str, whole: &str, question: Option<&str>, decides: &str) -> Result<()> {
    let asks = question.map_or_else(String::new, |question| format!(": {}", text::excerpt(&text::one_line(question), 200)));
    program::print(&format!("{whole}{asks}\n  {}\n", text::excerpt(&text::one_line(decides), 200)))?;
    if program::confirms(&format!("Do you mean {whole}?"))? {
        return Ok(());
    }
    Err(Error::conflict(format!("nothing was decided: `{typed}` is only a part of {whole}"), format!("write the whole id: {whole}")))
}

/// The workflow of another machine that a person means, by the same rules. `waiting` are the workflows that wait on that machine.
///
/// # Errors
/// [`Error::Usage`] if several ids contain the part.
pub fn meant_of<'a>(typed: &WorkflowId, waiting: impl Iterator<Item = &'a WorkflowId> + Clone) -> Result<Option<WorkflowId>> {
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
            let hint = "write more of the id that you mean";
            Err(Error::usage(format!("`{typed}` is a part of {} ids: {}{more}", several.len(), named.join(", ")), hint))
        }
    }
}

fn is_known(mailbox: &Mailbox, workflow: &WorkflowId) -> bool {
    let waits = [Folder::Pending, Folder::Answered].into_iter().any(|folder| disk::exists(mailbox.document(folder, workflow)));
    waits || disk::exists(mailbox.runs_of_workflow(workflow))
}
