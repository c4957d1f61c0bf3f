//! `ask-answer edit`: a long answer from the editor, or a tool call that is changed before it is allowed. The question may wait on this
//! machine or on another one.

use crate::args::ask_answer_args::{AskAnswer, Command};
use crate::ask_answer::give::{give, person};
use crate::ask_answer::{answering, edit_call, editor, question_text};
use crate::program::{self, Context};
use askbox_config::ToolRule;
use askbox_mailbox::documents::fields::approval::EDITED;
use askbox_mailbox::{Answer, AnswerValue, Caller, Decision, Error, Folder, On, Result, Round, WorkflowId};
use askbox_run::story;

/// A question whose answer the person edits.
pub struct Edited<'a> {
    /// The question's name on this machine.
    pub address: &'a str,
    /// The round that waits.
    pub found: &'a Round,
    /// The reminder below the text in the editor.
    pub below: String,
    /// The operator's rules in `refuse`. Those of another machine are not known here, and the run there checks them.
    pub refuse: Vec<ToolRule>,
}

/// Lets the person write the answer, and gives it. Returns `None` if nothing was decided.
///
/// # Errors
/// [`Error::Usage`] if the arguments do not fit the question; the errors of the editor, of the decision, and of `give`.
pub fn edit<T>(args: &AskAnswer, edited: &Edited<'_>, person: &Caller, give: impl Fn(On, Answer) -> Result<T>) -> Result<Option<T>> {
    let Some(Command::Edit { input, round: seen, note, .. }) = &args.command else { return Ok(None) };
    let Edited { address, found, below, refuse } = edited;
    let (round, question) = (&found.id, &found.document.typed);
    if question.is_batch() {
        return Err(Error::usage("several questions are asked at once", answering::how_to_answer(question)));
    }
    let on = match seen {
        Some(seen) if seen.id != round.question => {
            let message = format!("{address} asks another question now; nothing was answered");
            return Err(Error::conflict(message, format!("look at it: ask-answer show {address}")));
        }
        Some(seen) => seen.of_waiting(&round.workflow, round.question, question)?,
        // In the editor, the person sees the call before they change it. A text from a file names the call that was seen.
        None if input.is_some() => On::WhatWaits,
        None => On::question(round, question)?,
    };
    if question.approval.is_some() {
        let allowance = person.value(EDITED.into());
        Decision::by(person, on).may_be_made(address, question, &allowance)?;
        let Some(text) = edit_call::edit((address, round.question), question, refuse, below, input.as_deref())? else {
            return program::print(&format!("{address}: nothing was decided\n")).map(|()| None);
        };
        let reply = Answer { edited: Some(text), note: note.clone(), ..allowance };
        return give(on, reply).inspect(|_| edit_call::accepted(address, round.question)).map(Some);
    }
    if input.is_some() {
        let hint = format!("answer: ask-answer {address} - < FILE");
        return Err(Error::usage("--input changes a tool call, and no call is asked about", hint));
    }
    let draft = editor::write("", below, ".md")?;
    let reply = Answer { note: note.clone(), ..person.value(AnswerValue::Text(draft.text.clone())) };
    give(on, reply).inspect_err(|_| draft.keep()).map(Some)
}

/// `ask-answer edit ID`
pub(super) fn edit_here(args: &AskAnswer, context: &Context, id: &WorkflowId) -> Result<()> {
    let mailbox = args.common.open()?;
    let found = answering::question(&mailbox, id)?;
    // Refuse before the editor opens, so that nobody writes a text in vain. The question may still end while the editor is open.
    if found.folder != Folder::Pending {
        let message = format!("{id} waits for no answer: {}", story::in_words(&found));
        return Err(Error::conflict(message, format!("look at it: ask-answer show {id}")));
    }
    let (below, refuse) = (question_text::round(Some(&mailbox), &found, context), edit_call::refuse_rules(context));
    let (person, edited) = (person(args, context)?, Edited { address: id.as_str(), found: &found, below, refuse });
    edit(args, &edited, &person, |on, reply| give(args, context, &mailbox, id, on, reply, &person)).map(|_| ())
}
