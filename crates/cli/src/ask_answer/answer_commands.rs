//! The commands of `ask-answer`.

use std::os::unix::process::CommandExt;
use std::process::Command as Program;

use serde_json::json;
use serde_json::value::RawValue;

use crate::args::ask_answer_args::{AskAnswer, Command, Format, ListFormat, ReplyArgs};
use crate::ask_answer::give::{acknowledge, decision, give, offer_as_prompt, person};
use crate::ask_answer::{ag_ui, ask_user_question, edit_command, listing, other_machines, short_id, shown_files};
use crate::person::refusal;
use crate::{Context, SeenRound, answering, program, question_text};
use askbox_mailbox::transitions::{undo, withdraw};
use askbox_mailbox::{Caller, Error, Folder, Mailbox, On, Question, QuestionId, Result, RoundId, WorkflowId, accept, caller, disk, text};
use askbox_run::asking::orphans;
use askbox_run::chain::whole_tree;
use askbox_run::programs;

/// Runs `ask-answer`; returns the exit status.
pub fn run(args: AskAnswer, context: &Context) -> Result<u8> {
    other_machines::go_there(&args)?;
    let Some(command) = &args.command else {
        match args.reply.words.split_first() {
            None if args.reply.file.is_some() => ag_ui::resume(&args, context)?,
            None => return open_inbox(&args, context, None),
            Some((id, [])) if opens(&args) => {
                let workflow = short_id::meant(&args.common, &id.parse()?)?;
                return open_inbox(&args, context, Some(&workflow)).map_err(|e| program::maybe_command::<AskAnswer>(id, e));
            }
            Some((id, words)) => {
                let workflow = short_id::meant_to_decide(&args.common, &id.parse()?, &short_id::answer_in_words(&args.reply, words))?;
                reply(&args, context, &workflow, words)
                    .map_err(|e| program::maybe_command::<AskAnswer>(id, e))
                    .map_err(|e| swapped(&args, e))?;
            }
        }
        return Ok(0);
    };
    let given = &args.reply;
    // `decline` has these flags too, and they may stand before it.
    let flags_fit = match command {
        Command::Decline { note, round, .. } => (note.is_none() || given.note.is_none()) && (round.is_none() || given.round.is_none()),
        Command::Undo { round, .. } | Command::AskBack { round, .. } | Command::Cancel { round, tree: false, .. } => {
            given.note.is_none() && (round.is_none() || given.round.is_none())
        }
        _ => given.note.is_none() && given.round.is_none(),
    } && (!given.text || matches!(command, Command::Edit { .. }));
    if !given.words.is_empty() || given.file.is_some() || !flags_fit {
        return Err(not_both(given, command));
    }
    let seen = given.round.as_ref().map(|seen| seen.id);
    match command {
        Command::List { filter, format: Some(ListFormat::AgUi), .. } => {
            listing::interrupts(args.common.open_if_there()?.as_ref(), filter)?;
        }
        Command::List { filter, .. } => {
            listing::pending(args.common.open_if_there()?.as_ref(), context, filter, args.common.json)?;
        }
        Command::Show { id, attachment: Some(name), .. } => {
            let (mailbox, id) = (args.common.open()?, short_id::meant(&args.common, &id.workflow)?);
            let found = answering::question(&mailbox, &id)?;
            shown_files::write_out(&mailbox, &found.id, &found.document.typed, name)?;
        }
        Command::Show { id, format, .. } => show(&args, context, &short_id::meant(&args.common, &id.workflow)?, *format)?,
        Command::Decline { id, note, round, always, stop } => {
            let note = note.clone().or_else(|| given.note.clone());
            let id = short_id::meant_to_decide(&args.common, &id.workflow, "decline it")?;
            let (mailbox, person) = (args.common.open()?, person(&args, context)?);
            let on = seen_as(round.as_ref().or(given.round.as_ref()), &mailbox, &id)?;
            give(&args, context, &mailbox, &id, on, refusal(&person, note, *always, *stop), &person)?;
        }
        Command::AskBack { id, question, round } => {
            if text::is_blank(question) {
                return Err(Error::usage("your question is empty", format!("write it: ask-answer ask-back {id} 'QUESTION'")));
            }
            let id = short_id::meant_to_decide(&args.common, &id.workflow, &format!("ask back: {question}"))?;
            let person = person(&args, context)?;
            give(&args, context, &args.common.open()?, &id, round.or(seen), person.asking_back(question.clone()), &person)?;
        }
        Command::Undo { id, round } => {
            let id = short_id::meant_to_decide(&args.common, &id.workflow, "take its answer back")?;
            undo(&args, &id, round.or(seen))?;
        }
        Command::Cancel { id, why, tree, round } => {
            let id = short_id::meant_to_decide(&args.common, &id.workflow, "withdraw it: no agent is started")?;
            cancel(&args, &id, why.as_deref(), *tree, round.or(seen))?;
        }
        Command::Edit { id, .. } => edit_command::edit_here(&args, context, &short_id::meant(&args.common, &id.workflow)?)?,
    }
    Ok(0)
}

/// The error for a command's name behind an id, or for a command with the flags of an answer.
fn not_both(given: &ReplyArgs, command: &Command) -> Error {
    let name = command.word();
    match given.words.first() {
        Some(id) => Error::usage(
            format!("{id} is given before the command `{name}`"),
            format!("to answer {id} with the word, write flags before `--`: ask-answer {id} -- {name}"),
        ),
        None => Error::usage(
            format!("`ask-answer {name}` does not take these flags: --file, --note, --round and --text belong to an answer"),
            format!("leave the flag out; see: ask-answer {name} --help"),
        ),
    }
}

/// Extends the error about an unknown workflow if the one word behind it is a workflow that waits for an answer.
fn swapped(args: &AskAnswer, error: Error) -> Error {
    // A misspelt command has an error of its own.
    let (Error::NotFound { message, .. }, [value, id]) = (&error, args.reply.words.as_slice()) else { return error };
    if program::is_near_command::<AskAnswer>(value) {
        return error;
    }
    let Ok(workflow) = id.parse::<WorkflowId>() else { return error };
    if !args.common.open().is_ok_and(|mailbox| disk::exists(mailbox.document(Folder::Pending, &workflow))) {
        return error;
    }
    let meant = format!("ask-answer {workflow} {}", text::shell_quote(&text::excerpt(value, 60)));
    Error::not_found(format!("{message}, and {workflow} has one"), format!("the id stands first: {meant}"))
}

/// `ask-answer undo ID`
fn undo(args: &AskAnswer, id: &WorkflowId, round: Option<QuestionId>) -> Result<()> {
    let undone = undo::undo(&args.common.open()?, id, round, &named(args)?)?;
    undone.warning.iter().for_each(|warning| program::warn(warning));
    let value = json!({"state": "pending", "workflow_id": id, "question_id": undone.round.question, "warning": undone.warning});
    let words = format!("{id}: taken back ({}); the question waits again\n", undone.answer);
    program::print_result(args.common.json, &value, &words)
}

/// `ask-answer cancel ID`
fn cancel(args: &AskAnswer, id: &WorkflowId, why: Option<&str>, with_tree: bool, round: Option<QuestionId>) -> Result<()> {
    let mailbox = args.common.open()?;
    let by = args.reply.by.clone().unwrap_or_else(program::user);
    if with_tree {
        let withdrawn = whole_tree::cancel(&mailbox, id, &by, why)?;
        let questions = if withdrawn.len() == 1 { "question" } else { "questions" };
        let words = format!("{id}: cancelled, with everything below it; {} {questions} withdrawn\n", withdrawn.len());
        let value = json!({"state": "cancelled", "workflow_id": id, "withdrawn": withdrawn});
        return program::print_result(args.common.json, &value, &words);
    }
    let why = why.map(str::to_owned);
    let round = match round {
        Some(question) => withdraw::withdraw_round(&mailbox, &RoundId { workflow: id.clone(), question }, &by, why)?,
        None => withdraw::withdraw(&mailbox, id, &by, why)?,
    };
    let value = json!({"state": "withdrawn", "workflow_id": round.workflow, "question_id": round.question});
    program::print_result(args.common.json, &value, &format!("{}: withdrawn; no agent is started\n", round.workflow))
}

/// `ask-answer ID ANSWER…`
fn reply(args: &AskAnswer, context: &Context, id: &WorkflowId, words: &[String]) -> Result<()> {
    if args.reply.file.is_some() && !words.is_empty() {
        return Err(Error::usage("an answer is given, and --file as well", "leave one of them out"));
    }
    let mailbox = args.common.open()?;
    let (on, person) = (seen_as(args.reply.round.as_ref(), &mailbox, id)?, person(args, context)?);
    // The workflow stays locked while the answer is read, so standard input and files are read without the lock.
    if args.reply.file.is_none() && !words.iter().any(|word| word == "-" || word.ends_with("=-")) {
        let read = |question: &Question| answering::given(question, args, &person);
        orphans::end_waiting(&mailbox, id)?;
        let accepted = accept::answer_pending(&mailbox, id, decision(args, &person, on), read);
        if let Some(accepted) = accepted.inspect_err(|e| offer_as_prompt(&mailbox, id, e))? {
            return acknowledge(args, context, &mailbox, &accepted);
        }
    }
    reply_to_found(args, context, &mailbox, id, &person)
}

/// Answers a question whose answer is read from standard input or a file, or a question that is answered already.
fn reply_to_found(args: &AskAnswer, context: &Context, mailbox: &Mailbox, id: &WorkflowId, person: &Caller) -> Result<()> {
    let found = answering::question(mailbox, id)?;
    let question = &found.document.typed;
    let answer = answering::given(question, args, person)?;
    // The answer was read for this question, so it must not answer another one. The question was not shown to anybody here, unless the
    // person names its round.
    match &args.reply.round {
        None if question.approval.is_some() => give(args, context, mailbox, id, On::WhatWaits, answer, person),
        None => give(args, context, mailbox, id, On::question(&found.id, question)?, answer, person),
        Some(_) => give(args, context, mailbox, id, seen_as(args.reply.round.as_ref(), mailbox, id)?, answer, person),
    }
}

fn seen_as(seen: Option<&SeenRound>, mailbox: &Mailbox, id: &WorkflowId) -> Result<On> {
    let Some(seen) = seen else { return Ok(On::WhatWaits) };
    match answering::question(mailbox, id) {
        Ok(found) if found.folder == Folder::Pending => seen.of_waiting(id, found.id.question, &found.document.typed),
        _ => Ok(On::Round(seen.id)),
    }
}

/// The name of the person who takes an answer back or decides.
fn named(args: &AskAnswer) -> Result<String> {
    let by = args.reply.by.clone().unwrap_or_else(program::user);
    caller::check_name(&by).map(|()| by)
}

/// `ask-answer show ID`
fn show(args: &AskAnswer, context: &Context, id: &WorkflowId, format: Option<Format>) -> Result<()> {
    let mailbox = args.common.open()?;
    let found = answering::question_to_show(&mailbox, id)?;
    if format == Some(Format::AskUserQuestion) {
        let question = &found.document.typed;
        if question.questions.len() > ask_user_question::MAX_QUESTIONS {
            let problem = format!(
                "AskUserQuestion takes {} questions a call, here are {}",
                ask_user_question::MAX_QUESTIONS,
                question.questions.len()
            );
            program::warn(&format!("{problem}: call it several times and put the answers together"));
        }
        return program::print_json(&ask_user_question::to_input(question));
    }
    if args.common.json || format == Some(Format::Json) {
        let document = String::from_utf8_lossy(&found.document.to_bytes()).into_owned();
        let document = serde_json::from_str::<Box<RawValue>>(&document).map_err(|e| Error::failed(e.to_string(), "report this"))?;
        #[derive(serde::Serialize)]
        struct Shown<'a> {
            state: &'a str,
            question_id: QuestionId,
            document: Box<RawValue>,
        }
        return program::print_json(&Shown { state: found.state().name(), question_id: found.id.question, document });
    }
    let shown = question_text::fitted(&question_text::round(Some(&mailbox), &found, context));
    program::print(&(shown + &question_text::to_allow(id.as_str(), &found)))?;
    shown_files::print(&shown_files::read(Some(&mailbox), &found.id, &found.document.typed), id.as_str())
}

/// True if an id alone opens the question in the inbox: a person sits at the terminal, and no flag gives an answer.
pub fn opens(args: &AskAnswer) -> bool {
    let given = &args.reply;
    let is_plain = given.file.is_none() && given.note.is_none() && given.round.is_none() && !given.text && !args.common.json;
    is_plain && program::is_interactive()
}

/// Opens the inbox, or one question in it, if no answer was given and a person sits at the terminal.
fn open_inbox(args: &AskAnswer, context: &Context, workflow: Option<&WorkflowId>) -> Result<u8> {
    let hint = "see the pending questions: ask-answer list; then: ask-answer ID ANSWER";
    if args.reply.file.is_some() || args.reply.note.is_some() || args.reply.round.is_some() || args.common.json {
        return Err(Error::usage("no question is named", hint));
    }
    if !program::is_interactive() {
        return Err(Error::usage("no question is named, and this is not a terminal", hint));
    }
    if program::env("TERM").is_some_and(|terminal| terminal == "dumb") {
        return Err(Error::usage("the inbox needs a terminal that can move its cursor (TERM=dumb)", hint));
    }
    let Some(workflow) = workflow else { return Err(inbox_program(&args.common.open_to_answer(context)?, None, &named(args)?)) };
    let mailbox = args.common.open()?;
    // An unknown id is an error before the screen changes.
    answering::question(&mailbox, workflow)?;
    Err(inbox_program(&mailbox, Some(workflow), &named(args)?))
}

/// Becomes `askbox inbox`. Only that program contains the screen, so that an answer on the command line starts as fast as without it.
/// Returns only if that program cannot be run.
fn inbox_program(mailbox: &Mailbox, workflow: Option<&WorkflowId>, by: &str) -> Error {
    let mut command = Program::new(programs::beside("askbox"));
    command.arg("inbox").args(workflow.map(WorkflowId::as_str)).arg("--by").arg(by).arg("--mailbox").arg(mailbox.root());
    let e = command.exec();
    let hint = "install it beside ask-answer; or answer without the inbox: ask-answer list; then: ask-answer ID ANSWER";
    Error::failed(format!("the inbox is a part of the program askbox, which cannot be run: {e}"), hint)
}
