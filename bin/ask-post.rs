//! `ask-post`: leaves a question in the mailbox and exits.

#![deny(clippy::disallowed_methods)]

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use askbox::error::{Error, Result};
use askbox::id::WorkflowId;
use askbox::mailbox::documents::options::Choice;
use askbox::mailbox::documents::question::MAX_QUESTION;
use askbox::mailbox::post::{self, IfPending};
use askbox::mailbox::{AnswerValue, Mailbox, Question, QuestionDocument};
use askbox::surface::args::ask_post::AskPost;
use askbox::surface::ask_post::{posting, receipt, wait};
use askbox::surface::program;
use askbox::time::{self, Span};

fn main() -> ExitCode {
    program::main(std::env::args_os(), run)
}

fn run(args: AskPost) -> Result<u8> {
    let if_pending = if args.supersede { IfPending::Supersede } else { IfPending::Conflict };
    if args.batch {
        return many(&args, if_pending);
    }
    let patience = duration("--wait", args.wait.as_deref())?;
    let mut document = question(&args)?;
    apply_flags(&args, &mut document.typed)?;
    let mailbox = args.common.open_or_create()?;
    posting::complete(&mailbox, &mut document.typed)?;
    if let Some(patience) = patience {
        return post_and_wait(&args, &mailbox, document, if_pending, patience);
    }
    let receipt = post::post_document(&mailbox, document, if_pending)?;
    receipt::acknowledge(&args.common, &receipt, "posted").map(|()| 0)
}

/// Hands the answer over where it comes in time. Whatever goes wrong with the waiting, the question is safe, and the way
/// without `--wait` goes on working.
fn post_and_wait(args: &AskPost, mailbox: &Mailbox, document: QuestionDocument, if_pending: IfPending, patience: Duration) -> Result<u8> {
    let could_not_wait = |e: &Error| program::warn(&format!("could not wait: {}", program::message(e)));
    let waiter = match wait::begin(mailbox, &document.typed.workflow_id) {
        Err(e @ Error::Conflict { .. }) => return Err(e),
        other => other.inspect_err(could_not_wait).ok(),
    };
    let receipt = post::post_document(mailbox, document, if_pending)?;
    if let Some(waiter) = waiter {
        match wait::wait(waiter, mailbox, &receipt.round, patience, |answer| receipt::hand_over(&args.common, &receipt, answer)) {
            Ok(Some(status)) => return Ok(status),
            Ok(None) => {}
            Err(e @ Error::Conflict { .. }) => return Err(e),
            Err(e) => could_not_wait(&e),
        }
    }
    receipt::acknowledge(&args.common, &receipt, "pending").map(|()| 0)
}

/// The question from a file, or from the flags.
fn question(args: &AskPost) -> Result<QuestionDocument> {
    let given = args.workflow.as_deref().map(program::workflow).transpose()?;
    if let Some(file) = &args.file {
        return of_file(file, given);
    }
    let text = match args.question.as_deref() {
        Some("-") => program::read_stdin_text(MAX_QUESTION)?,
        text => text.unwrap_or_default().to_owned(),
    };
    let mut question = Question::new(given.map_or_else(unnamed, Ok)?, text);
    for option in &args.option {
        let (key, description) = option.split_once('=').unwrap_or((option, ""));
        if question.options.get(key).is_some() {
            let key = askbox::text::excerpt(key, 40);
            return Err(Error::usage(format!("-o: `{key}` is there twice"), "give every option a key of its own"));
        }
        question.options.0.push(Choice { key: key.into(), description: description.into(), preview: None });
    }
    question.kind = word(args.kind.as_deref())?;
    question.free_text = args.no_free_text.then_some(false);
    Ok(QuestionDocument::draft(question))
}

/// The workflow that the environment names, else a new one.
fn unnamed() -> Result<WorkflowId> {
    Ok(program::workflow_or_env(None)?.unwrap_or_else(WorkflowId::generate))
}

fn of_file(file: &Path, given: Option<WorkflowId>) -> Result<QuestionDocument> {
    let bytes = program::read_input(file, MAX_QUESTION)?;
    posting::parse(&bytes, given, unnamed).map_err(|e| program::in_input(file, e))
}

fn apply_flags(args: &AskPost, question: &mut Question) -> Result<()> {
    if let Some(path) = &args.checkpoint {
        let absolute = std::path::absolute(path).map_err(|_| Error::usage("-c: the path is empty", "name a checkpoint file"))?;
        question.checkpoint = Some(absolute);
    }
    if let Some(timeout) = duration("--timeout", args.timeout.as_deref())? {
        question.expires_at = chrono::TimeDelta::from_std(timeout).ok().and_then(|d| time::now().checked_add_signed(d));
    }
    if let Some(every) = duration("--remind-every", args.remind_every.as_deref())? {
        question.remind_every = Some(Span(every));
    }
    question.on_expiry = word(args.on_expiry.as_deref())?.or(question.on_expiry);
    question.default = args.default.clone().map(AnswerValue::Text).or(question.default.take());
    question.priority = args.priority.or(question.priority);
    question.context = args.context.clone().or(question.context.take());
    question.asked_by = args.asked_by.clone().or(question.asked_by.take());
    Ok(())
}

fn duration(flag: &str, text: Option<&str>) -> Result<Option<Duration>> {
    text.map(|text| time::parse_duration(text, flag)).transpose().map_err(|e| program::of_flag(flag, e))
}

/// A word that clap has checked, as the document's own type.
fn word<T: serde::de::DeserializeOwned>(word: Option<&str>) -> Result<Option<T>> {
    let read = |w: &str| serde_json::from_value(w.into()).map_err(|e| Error::usage(e.to_string(), "see --help"));
    word.map(read).transpose()
}

/// Many questions in one process: each is posted or refused for itself.
fn many(args: &AskPost, if_pending: IfPending) -> Result<u8> {
    let file = args.file.as_deref().unwrap_or(Path::new("-"));
    let bytes = program::read_input(file, posting::MAX_BATCH)?;
    let items = posting::split(&bytes).map_err(|e| program::in_input(file, e))?;
    let mailbox = args.common.open_or_create()?;
    let read = |raw: &serde_json::value::RawValue| -> Result<QuestionDocument> { one_of_many(args, &mailbox, raw.get().as_bytes()) };
    let results = post::post_many(&mailbox, items.iter().map(|raw| read(raw)).collect(), if_pending)?;
    let mut status = 0;
    for (n, result) in results.iter().enumerate() {
        match result {
            Ok(receipt) => receipt::acknowledge(&args.common, receipt, "posted")?,
            Err(e) => {
                status = if status == 0 { e.exit_code() } else { status };
                receipt::refuse(&args.common, n, e)?;
            }
        }
    }
    Ok(status)
}

fn one_of_many(args: &AskPost, mailbox: &Mailbox, bytes: &[u8]) -> Result<QuestionDocument> {
    let mut document = posting::parse(bytes, None, || {
        Err(Error::invalid("workflow_id", "is missing", "give every question of the array its own workflow_id"))
    })?;
    document.typed.asked_by = document.typed.asked_by.take().or_else(|| args.asked_by.clone());
    posting::complete(mailbox, &mut document.typed)?;
    Ok(document)
}
