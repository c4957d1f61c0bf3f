//! `ask-answer edit HOST:ID`: a long answer, or a changed tool call, for a question of another machine.

use crate::machines::answer::{as_round, found, may_be_made, person, send};
use askbox_cli::args::ask_answer_args::{AskAnswer, Command};
use askbox_cli::ask_answer::{answering, edit_call, editor, question_text};
use askbox_cli::program::{self, Context};
use askbox_mailbox::address::Address;
use askbox_mailbox::documents::fields::approval::EDITED;
use askbox_mailbox::transitions::accept::{Decision, On};
use askbox_mailbox::{Answer, AnswerValue, Error, Result};

/// Runs the command; returns the exit status.
pub(super) fn edit(args: &AskAnswer, context: &Context, id: &Address) -> Result<u8> {
    let (input, seen, note) = match &args.command {
        Some(Command::Edit { input, round, note, .. }) => (input.as_deref(), round.as_ref(), note.clone()),
        _ => (None, None, None),
    };
    let found = found(context, id, false)?.waiting(id)?;
    let (round, address, person) = (as_round(&found.1)?, found.1.address().to_string(), person(args, context)?);
    let question = &round.document.typed;
    if question.is_batch() {
        return Err(Error::usage("several questions are asked at once", answering::how_to_answer(question)));
    }
    let seen = seen.map(|seen| seen.of_waiting(&found.1.workflow, round.id.question, question)).transpose()?;
    let below = question_text::round(None, &round, context);
    if question.approval.is_some() {
        let reply = person.value(EDITED.into());
        // In the editor, the person sees the call before they change it. A text from a file names the call that was seen.
        let on = match (seen, input) {
            (Some(seen), _) => seen,
            (None, Some(_)) => On::WhatWaits,
            (None, None) => On::question(&round.id, question)?,
        };
        may_be_made(Decision::by(&person, on), &address, question, round.id.question, &reply)?;
        // The operator's rules on that machine are not known here. The run there checks them.
        let Some(edited) = edit_call::edit((&address, round.id.question), question, &[], &below, input)? else {
            return program::print(&format!("{address}: nothing was decided\n")).map(|()| 0);
        };
        let reply = Answer { edited: Some(edited), note, ..reply };
        return send(args, &found, on, reply, &person).inspect(|_| edit_call::accepted(&address, round.id.question));
    }
    if input.is_some() {
        return Err(Error::usage(
            "--input changes a tool call, and no call is asked about",
            format!("answer: ask-answer {address} - < FILE"),
        ));
    }
    let draft = editor::write("", &below, ".md")?;
    let reply = Answer { note, ..person.value(AnswerValue::Text(draft.text.clone())) };
    send(args, &found, None, reply, &person).inspect_err(|_| draft.keep())
}
