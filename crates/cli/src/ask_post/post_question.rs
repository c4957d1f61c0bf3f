//! `ask-post`: posts one question, from flags or from a file, or with `--batch` many independent questions from one JSON array.

use std::path::Path;
use std::time::Duration;

use crate::args::ask_post_args::AskPost;
use crate::ask_post::inline_wait::{self, Waited};
use crate::ask_post::{post_receipt, posting};
use crate::program::{self, Context};
use askbox_mailbox::documents::question::MAX_QUESTION;
use askbox_mailbox::transitions::post::{IfPending, Posted};
use askbox_mailbox::{
    Answer, AnswerValue, AttachedFile, Error, Folder, Kind, Mailbox, Question, QuestionDocument, Range, Receipt, Result, RoundId, Span,
    Until, WorkflowId, disk, post, text, time,
};

/// Runs `ask-post`; returns the exit status.
pub fn run(args: AskPost, context: &Context) -> Result<u8> {
    let if_pending = if args.supersede { IfPending::Supersede } else { IfPending::Conflict };
    if args.batch {
        return post_batch(&args, context, if_pending);
    }
    let files = posting::read(&args)?;
    let mut document = question(&args)?;
    apply_flags(&args, &mut document.typed)?;
    let mailbox = args.common.open_or_create()?;
    posting::complete(&mailbox, &mut document.typed)?;
    document.typed.continues_in = program::continues_in(&mailbox, &document.typed);
    posting::warn_of_malformed_trace(&document);
    // A question from a file keeps the names of its fields.
    let as_typed = |e: Error| if args.file.is_none() { with_flag(e) } else { e };
    if let Some(limit) = args.wait {
        return post_and_wait(&args, context, &mailbox, (document, &files), if_pending, limit).map_err(as_typed);
    }
    let asked = document.typed.clone();
    if let Some(earlier) = post_receipt::find(&mailbox, &asked) {
        return post_receipt::acknowledge(&args.common, &earlier, "posted").map(|()| 0);
    }
    let receipt = match program::this_run() {
        None => post::post_with_files(&mailbox, document, &files, if_pending).map_err(as_typed)?,
        // The answer may have come in this moment.
        Some(_) => match post::post_unless_answered(&mailbox, document, &files, if_pending).map_err(as_typed)? {
            Posted::Pending(receipt) => *receipt,
            Posted::Answered(round) => post_receipt::repeated(Receipt { round, question: asked.clone(), repeated: true }),
        },
    };
    let asked = [asked];
    post_receipt::warn_without_timeout(&asked);
    post_receipt::warn_without_checkpoint(&mailbox, context, &asked);
    if disk::exists(mailbox.document(Folder::Answered, &receipt.round.workflow)) {
        let id = &receipt.round.workflow;
        program::warn(&format!("an earlier answer of {id} still waits for its run; if you have it already: relaunch done {id}"));
    }
    post_receipt::acknowledge(&args.common, &receipt, "posted").map(|()| 0)
}

/// Names the flag that a person typed, instead of the field of the document.
fn with_flag(error: Error) -> Error {
    let Error::Invalid { file, field, problem, fix } = error else { return error };
    let flag = match field.as_str() {
        "workflow_id" => "--workflow".to_owned(),
        "expires_at" => "--timeout".to_owned(),
        "until" => "--until or --until-file".to_owned(),
        "attachments" => "--attach".to_owned(),
        "asked_by" => "--asked-by or $ASKBOX_ASKED_BY".to_owned(),
        "free_text" => "--no-free-text".to_owned(),
        options if options.starts_with("options") => "options (-o)".to_owned(),
        "checkpoint" | "type" | "default" | "on_expiry" | "remind_every" | "priority" | "context" => {
            format!("--{}", field.replace('_', "-"))
        }
        range => range.strip_prefix("range.").map_or_else(|| range.to_owned(), |bound| format!("--{bound}")),
    };
    Error::Invalid { file, field: flag, problem, fix }
}

/// Prints the answer if it comes within `limit`.
fn post_and_wait(
    args: &AskPost,
    context: &Context,
    mailbox: &Mailbox,
    posted: (QuestionDocument, &[AttachedFile]),
    if_pending: IfPending,
    limit: Duration,
) -> Result<u8> {
    let asked = [posted.0.typed.clone()];
    post_receipt::warn_without_timeout(&asked);
    let print = |round: &RoundId, question: &Question, answer: &Answer| post_receipt::hand_over(&args.common, round, question, answer);
    match inline_wait::post_and_wait(context, mailbox, posted, if_pending, limit, print)? {
        Waited::Done(status) => Ok(status),
        Waited::InVain(receipt) => {
            post_receipt::warn_without_checkpoint(mailbox, context, &asked);
            post_receipt::acknowledge(&args.common, &receipt, "pending").map(|()| 0)
        }
    }
}

/// The question from a file, or from the flags.
fn question(args: &AskPost) -> Result<QuestionDocument> {
    let given = args.workflow.clone();
    if let Some(file) = &args.file {
        let bytes = program::read_input(file, MAX_QUESTION)?;
        return posting::parse(&bytes, given, unnamed).map_err(|e| program::in_input(file, e));
    }
    let text = match args.question.as_deref() {
        Some("-") => program::read_stdin_text(MAX_QUESTION)?,
        text => text.unwrap_or_default().to_owned(),
    };
    let mut question = Question::new(given.map_or_else(unnamed, Ok)?, text);
    for choice in &args.option {
        if question.options.get(&choice.key).is_some() {
            let key = text::excerpt(&choice.key, 40);
            return Err(Error::usage(format!("-o: the key `{key}` is given twice"), "give every option a key of its own"));
        }
        question.options.0.push(choice.clone());
    }
    let range = Range { min: args.min, max: args.max, step: args.step, unit: args.unit.clone() };
    question.range = Some(range).filter(|range| !range.is_empty());
    question.kind = args.kind.or(question.range.as_ref().map(|_| Kind::Number));
    question.free_text = args.no_free_text.then_some(false);
    Ok(QuestionDocument::draft(question))
}

/// The workflow that the environment names, else a new one.
fn unnamed() -> Result<WorkflowId> {
    Ok(program::current_workflow()?.unwrap_or_else(WorkflowId::generate))
}

fn apply_flags(args: &AskPost, question: &mut Question) -> Result<()> {
    if let Some(path) = &args.checkpoint {
        let absolute = std::path::absolute(path).map_err(|_| Error::usage("-c: the path is empty", "name a checkpoint file"))?;
        program::in_a_document(&absolute)?;
        question.checkpoint = Some(absolute);
    }
    if let Some(file) = &args.until_file {
        let absolute = std::path::absolute(file).map_err(|_| Error::usage("--until-file: the path is empty", "name a file"))?;
        program::in_a_document(&absolute)?;
        question.until = Some(Until::File(absolute));
    }
    question.until = args.until.map(Until::At).or(question.until.take());
    if let Some(timeout) = args.timeout {
        question.expires_at = chrono::TimeDelta::from_std(timeout).ok().and_then(|d| time::now().checked_add_signed(d));
    }
    question.remind_every = args.remind_every.map(Span).or(question.remind_every);
    question.on_expiry = args.on_expiry.or(question.on_expiry);
    question.default = args.default.clone().map(AnswerValue::Text).or(question.default.take());
    question.priority = args.priority.or(question.priority);
    question.context = args.context.clone().or(question.context.take());
    question.asked_by = args.asked_by.clone().or(question.asked_by.take());
    Ok(())
}

/// Posts each question of the array, or refuses it, independently of the others. Returns the exit status of the first failure.
fn post_batch(args: &AskPost, context: &Context, if_pending: IfPending) -> Result<u8> {
    let file = args.file.as_deref().unwrap_or(Path::new("-"));
    let bytes = program::read_input(file, posting::MAX_BATCH)?;
    let items = posting::split(&bytes).map_err(|e| program::in_input(file, e))?;
    let mailbox = args.common.open_or_create()?;
    let documents: Vec<_> = items.iter().map(|raw| document(args, &mailbox, raw.get().as_bytes())).collect();
    let asked: Vec<Option<Question>> = documents.iter().map(|d| d.as_ref().ok().map(|d| d.typed.clone())).collect();
    let before: Vec<Option<Receipt>> = asked.iter().map(|asked| post_receipt::find(&mailbox, asked.as_ref()?)).collect();
    let new = documents.into_iter().zip(&before).filter(|(_, before)| before.is_none()).map(|(document, _)| document);
    let mut new = post::post_many(&mailbox, new.collect(), if_pending)?.into_iter();
    let results: Vec<_> = before.into_iter().filter_map(|before| before.map(Ok).or_else(|| new.next())).collect();
    let posted: Vec<Question> =
        asked.into_iter().zip(&results).filter(|(_, result)| result.is_ok()).filter_map(|(asked, _)| asked).collect();
    post_receipt::warn_without_timeout(&posted);
    post_receipt::warn_without_checkpoint(&mailbox, context, &posted);
    let mut status = 0;
    for (n, result) in results.iter().enumerate() {
        match result {
            Ok(receipt) => post_receipt::acknowledge(&args.common, receipt, "posted")?,
            Err(e) => {
                status = if status == 0 { e.exit_code() } else { status };
                post_receipt::refuse(&args.common, n, e)?;
            }
        }
    }
    Ok(status)
}

fn document(args: &AskPost, mailbox: &Mailbox, bytes: &[u8]) -> Result<QuestionDocument> {
    let mut document = posting::parse(bytes, None, || {
        Err(Error::invalid("workflow_id", "is missing", "give every question of the array its own workflow_id"))
    })?;
    document.typed.asked_by = document.typed.asked_by.take().or_else(|| args.asked_by.clone());
    posting::complete(mailbox, &mut document.typed)?;
    document.typed.continues_in = program::continues_in(mailbox, &document.typed);
    posting::warn_of_malformed_trace(&document);
    Ok(document)
}
