//! `ask-answer`: answers the questions that agents left.

#![deny(clippy::disallowed_methods)]

use std::process::ExitCode;

use askbox::chain::whole_tree;
use askbox::error::{Error, Result};
use askbox::id::{QuestionId, WorkflowId};
use askbox::mailbox::answer::{self, Accepted};
use askbox::mailbox::{Answer, AnswerValue, Mailbox, Question, close};
use askbox::surface::args::ask_answer::{AskAnswer, Command};
use askbox::surface::ask_answer::{answering, ask_user, edit, listing, show};
use askbox::surface::program;
use serde_json::json;
use serde_json::value::RawValue;

const CHANNEL: &str = "ask-answer";

fn main() -> ExitCode {
    program::main(AskAnswer::arrange(std::env::args_os().collect()), run)
}

fn run(args: AskAnswer) -> Result<u8> {
    let by = args.reply.by.clone().unwrap_or_else(program::user);
    match &args.command {
        None if args.reply.id.is_none() => inbox(&args, &by),
        None => reply(&args, &by).map(|()| 0),
        Some(command) => other(&args, command, by).map(|()| 0),
    }
}

/// Every subcommand.
fn other(args: &AskAnswer, command: &Command, by: String) -> Result<()> {
    match command {
        Command::List => listing::pending(&args.common.open()?, args.common.json)?,
        Command::Show { id, format } => look(args, id, format.as_deref())?,
        Command::Decline { id, note, round } => {
            let id = program::workflow(id)?;
            give(args, &args.common.open()?, &id, round_id(round.as_deref())?, Answer::declined(note.clone(), by, CHANNEL))?;
        }
        Command::Cancel { id, why, tree: true } => {
            let id = program::workflow(id)?;
            let withdrawn = whole_tree::cancel(&args.common.open()?, &id, &by, why.as_deref())?;
            if args.common.json {
                program::print_json(&json!({"state": "cancelled", "workflow_id": id, "withdrawn": withdrawn}))?;
            } else {
                program::print_words(&format!("{id}: cancelled with all below it; {} questions taken back\n", withdrawn.len()))?;
            }
        }
        Command::Cancel { id, why, tree: false } => {
            let round = close::withdraw(&args.common.open()?, &program::workflow(id)?, &by, why.clone())?;
            if args.common.json {
                program::print_json(&json!({"state": "withdrawn", "workflow_id": round.workflow, "question_id": round.question}))?;
            } else {
                program::print_words(&format!("{}: withdrawn; no agent is started\n", round.workflow))?;
            }
        }
        Command::Edit { id } => write(args, &program::workflow(id)?, &by)?,
    }
    Ok(())
}

fn round_id(text: Option<&str>) -> Result<Option<QuestionId>> {
    text.map(str::parse).transpose().map_err(|e| program::of_flag("--round", e))
}

/// `ask-answer ID ANSWER…`
fn reply(args: &AskAnswer, by: &str) -> Result<()> {
    let id = program::workflow(args.reply.id.as_deref().unwrap_or_default())?;
    let mailbox = args.common.open()?;
    let round = round_id(args.reply.round.as_deref())?;
    let words = &args.reply.answer;
    // Nobody is kept waiting for our standard input.
    if args.reply.file.is_none() && !words.iter().any(|word| word == "-" || word.ends_with("=-")) {
        let mut given = None;
        let read = |question: &Question| {
            let value = answering::from_words(question, words)?;
            Ok(given.insert(Answer { note: args.reply.note.clone(), ..Answer::value(value, by, CHANNEL) }).clone())
        };
        let accepted = answer::answer_pending(&mailbox, &id, round, read)?;
        if let (Some(accepted), Some(given)) = (accepted, given) {
            return acknowledge(args, &accepted, &given);
        }
    }
    reply_to_found(args, by, &mailbox, &id, round)
}

/// An answer that has to be read first, or that comes late.
fn reply_to_found(args: &AskAnswer, by: &str, mailbox: &Mailbox, id: &WorkflowId, round: Option<QuestionId>) -> Result<()> {
    let found = answering::question(mailbox, id)?;
    let question = &found.document.typed;
    let mut answer = match &args.reply.file {
        Some(file) => {
            let bytes = program::read_input(file, answering::MAX_JSON)?;
            answering::from_json(question, &bytes, by, CHANNEL).map_err(|e| program::in_input(file, e))?
        }
        None => Answer::value(answering::from_words(question, &args.reply.answer)?, by, CHANNEL),
    };
    answer.note = args.reply.note.clone().or(answer.note);
    // The words were read as an answer to this very round: a newer question is not answered by them.
    give(args, mailbox, id, round.or(Some(found.round.question)), answer)
}

fn give(args: &AskAnswer, mailbox: &Mailbox, id: &WorkflowId, round: Option<QuestionId>, reply: Answer) -> Result<()> {
    let accepted = answer::answer(mailbox, id, round, reply.clone())?;
    acknowledge(args, &accepted, &reply)
}

fn acknowledge(args: &AskAnswer, accepted: &Accepted, reply: &Answer) -> Result<()> {
    let (id, declined) = (&accepted.round.workflow, reply.value.is_none());
    if let Some(warning) = &accepted.warning {
        program::warn(warning);
    }
    if args.common.json {
        return program::print_json(&json!({
            "state": if declined { "declined" } else { "answered" }, "workflow_id": id, "question_id": accepted.round.question,
            "value": reply.value.as_ref().map(AnswerValue::to_json), "warning": accepted.warning,
        }));
    }
    program::print_words(&if declined { format!("{id}: declined\n") } else { format!("{id}: answered: {}\n", answering::in_words(reply)) })
}

/// `ask-answer show ID`
fn look(args: &AskAnswer, id: &str, format: Option<&str>) -> Result<()> {
    let found = answering::question(&args.common.open()?, &program::workflow(id)?)?;
    if format == Some("ask-user-question") {
        let question = &found.document.typed;
        if question.questions.len() > ask_user::MAX_QUESTIONS {
            let problem =
                format!("AskUserQuestion takes {} questions a call, here are {}", ask_user::MAX_QUESTIONS, question.questions.len());
            program::warn(&format!("{problem}: call it several times and put the answers together"));
        }
        return program::print_json(&ask_user::to_input(question));
    }
    if args.common.json || format == Some("json") {
        let document = String::from_utf8_lossy(&found.document.to_bytes()).into_owned();
        let document = serde_json::from_str::<Box<RawValue>>(&document).map_err(|e| Error::failed(e.to_string(), "report this"))?;
        #[derive(serde::Serialize)]
        struct Shown<'a> {
            state: &'a str,
            question_id: QuestionId,
            document: Box<RawValue>,
        }
        return program::print_json(&Shown { state: found.folder.name(), question_id: found.round.question, document });
    }
    program::print_words(&show::round(&found))
}

/// `ask-answer edit ID`
fn write(args: &AskAnswer, id: &WorkflowId, by: &str) -> Result<()> {
    let mailbox = args.common.open()?;
    let found = answering::question(&mailbox, id)?;
    if found.document.typed.is_batch() {
        return Err(Error::usage("several questions are asked at once", answering::how_to_answer(&found.document.typed)));
    }
    let draft = edit::write(&show::round(&found), ".md")?;
    let reply = Answer::value(AnswerValue::Text(draft.text.clone()), by, CHANNEL);
    give(args, &mailbox, id, Some(found.round.question), reply).inspect_err(|_| {
        if let Some(path) = draft.keep() {
            program::say(&format!("your text is kept in {}\n", path.display()));
        }
    })
}

/// No arguments: the inbox, where somebody can be asked.
fn inbox(args: &AskAnswer, by: &str) -> Result<u8> {
    let hint = "see what is pending: ask-answer list; then: ask-answer ID ANSWER";
    if args.reply.file.is_some() || args.reply.note.is_some() || args.reply.round.is_some() || args.common.json {
        return Err(Error::usage("no question is named", hint));
    }
    if !program::is_interactive() {
        return Err(Error::usage("no question is named, and this is no terminal", hint));
    }
    #[cfg(feature = "inbox")]
    {
        askbox::surface::ask_answer::inbox::run(&args.common.open()?, by).map(|()| 0)
    }
    #[cfg(not(feature = "inbox"))]
    {
        let _ = by;
        Err(Error::usage("this build has no inbox", hint))
    }
}
