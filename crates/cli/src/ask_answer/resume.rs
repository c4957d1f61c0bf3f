//! `ask-answer --file FILE` without an id: answers each question that a resume entry of AG-UI is about.

use crate::args::ask_answer_args::AskAnswer;
use crate::ask_answer::ag_ui::{self, Resumed};
use crate::ask_answer::answering;
use crate::ask_answer::give::{give, person};
use crate::program::{self, Context};
use askbox_mailbox::transitions::accept::On;
use askbox_mailbox::{Caller, Error, Folder, Mailbox, Result};

/// Tries every entry. The first error counts, and later ones are only told.
pub(super) fn resume(args: &AskAnswer, context: &Context) -> Result<()> {
    let (given, Some(file)) = (&args.reply, &args.reply.file) else { return Ok(()) };
    if given.note.is_some() || given.round.is_some() || given.text {
        return Err(Error::usage(
            "--note, --round and --text belong to the answer to one question",
            "name the question, or leave them out",
        ));
    }
    let entries = ag_ui::read(&program::read_input(file, answering::MAX_JSON)?).map_err(|e| program::in_input(file, e))?;
    let (mailbox, person) = (args.common.open()?, person(args, context)?);
    let mut failed = None;
    for entry in entries {
        if let Err(e) = resume_one(args, context, &mailbox, &entry, &person)
            && let Some(later) = failed.replace(e)
        {
            program::complain(&later);
        }
    }
    failed.map_or(Ok(()), Err)
}

fn resume_one(args: &AskAnswer, context: &Context, mailbox: &Mailbox, entry: &Resumed, person: &Caller) -> Result<()> {
    let (workflow, found) = (&entry.workflow, answering::question(mailbox, &entry.workflow)?);
    if found.id.question != entry.seen.id {
        return Err(Error::conflict(
            format!("{workflow} asks another question by now (round {}, not {})", found.id.question, entry.seen.id),
            "list the questions again: ask-answer list --format ag-ui",
        ));
    }
    let question = &found.document.typed;
    let on = match found.folder {
        Folder::Pending => entry.seen.of_waiting(workflow, found.id.question, question)?,
        _ => On::Round(entry.seen.id),
    };
    give(args, context, mailbox, workflow, on, entry.answer(question, person)?, person)
}
