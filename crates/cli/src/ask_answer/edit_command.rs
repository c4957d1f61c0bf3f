//! `ask-answer edit ID`: a long answer from the editor, or a tool call that is changed before it is allowed.

use crate::args::ask_answer_args::{AskAnswer, Command};
use crate::ask_answer::give::{give, person};
use crate::ask_answer::{answering, edit_call, editor, question_text};
use crate::program::{self, Context};
use askbox_mailbox::documents::fields::approval::EDITED;
use askbox_mailbox::transitions::accept::On;
use askbox_mailbox::{Answer, AnswerValue, Error, Folder, Result, WorkflowId};
use askbox_run::story;

/// Runs the command.
pub(super) fn edit(args: &AskAnswer, context: &Context, id: &WorkflowId) -> Result<()> {
    let (input, seen, note) = match &args.command {
        Some(Command::Edit { input, round, note, .. }) => (input.as_deref(), round.as_ref(), note.clone()),
        _ => (None, None, None),
    };
    let mailbox = args.common.open()?;
    let found = answering::question(&mailbox, id)?;
    if found.document.typed.is_batch() {
        return Err(Error::usage("several questions are asked at once", answering::how_to_answer(&found.document.typed)));
    }
    // Refuse before the editor opens, so that nobody writes a text in vain. The question may still end while the editor is open.
    if found.folder != Folder::Pending {
        return Err(Error::conflict(
            format!("{id} waits for no answer: {}", story::in_words(&found)),
            format!("look at it: ask-answer show {id}"),
        ));
    }
    let on = match seen {
        Some(seen) if seen.id != found.id.question => {
            return Err(Error::conflict(
                format!("{id} asks another question now; nothing was answered"),
                format!("look at it: ask-answer show {id}"),
            ));
        }
        Some(seen) => seen.of_waiting(id, found.id.question, &found.document.typed)?,
        None if input.is_some() => On::WhatWaits,
        None => On::question(&found.id, &found.document.typed)?,
    };
    let person = person(args, context)?;
    if found.document.typed.approval.is_some() {
        let below = question_text::round(Some(&mailbox), &found, context);
        let Some(edited) =
            edit_call::edit((id.as_str(), found.id.question), &found.document.typed, &edit_call::refuse_rules(context), &below, input)?
        else {
            return program::print(&format!("{id}: nothing was decided\n"));
        };
        let reply = Answer { edited: Some(edited), note, ..person.value(EDITED.into()) };
        return give(args, context, &mailbox, id, on, reply, &person).inspect(|()| edit_call::accepted(id.as_str(), found.id.question));
    }
    if input.is_some() {
        return Err(Error::usage("--input changes a tool call, and no call is asked about", format!("answer: ask-answer {id} - < FILE")));
    }
    let draft = editor::write("", &question_text::round(Some(&mailbox), &found, context), ".md")?;
    let reply = Answer { note, ..person.value(AnswerValue::Text(draft.text.clone())) };
    give(args, context, &mailbox, id, on, reply, &person).inspect_err(|_| draft.keep())
}
