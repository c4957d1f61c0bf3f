//! Question documents as `ask-post` reads them: from a file, or from the input of AskUserQuestion, one document or an array of them.
//!
//! `ask-post --attach FILE`: reads the files that are shown beside the question.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::args::ask_post_args::AskPost;
use crate::program;
use askbox_mailbox::checkpoints::store;
use askbox_mailbox::document::{self, check_depth};
use askbox_mailbox::documents::fields::attachment::{LARGEST_IMAGE, MOST};
use askbox_mailbox::documents::fields::trace::Malformed;
use askbox_mailbox::{
    AnswerValue, AttachedFile, Document, Error, Folder, Mailbox, Question, QuestionDocument, QuestionId, Result, RoundId, Trace,
    WorkflowId, check_draft, read_question, round, text,
};

/// The maximum size of an array of questions, in bytes.
pub const MAX_BATCH: u64 = 64 << 20;
/// The maximum number of questions in an array.
pub const MAX_DOCUMENTS: usize = 10_000;

/// A question document that may leave its workflow id to the command line.
#[derive(Serialize, Deserialize)]
struct Unowned {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    workflow_id: Option<WorkflowId>,
}

/// Reads one question document, without filling it in. Its workflow is `given`, the id on the command line. Without it, the document's own
/// id is taken, or else `fallback`.
pub fn parse(bytes: &[u8], given: Option<WorkflowId>, fallback: impl FnOnce() -> Result<WorkflowId>) -> Result<QuestionDocument> {
    let own = document::json::<Unowned>(bytes).and_then(|document| document.workflow_id);
    let document = match own.is_some() && (given.is_none() || given == own) {
        true => QuestionDocument::parse(bytes)?,
        false => with_owner(bytes, given, fallback)?,
    };
    let question = &document.typed;
    if question.answer.is_some() || question.closed.is_some() || question.taken_back.is_some() || !question.late_answers.is_empty() {
        let fix = "leave out answer, closed, taken_back and late_answers";
        return Err(Error::invalid("answer", "is set before the question is posted", fix));
    }
    check_draft::of_client(question)?;
    Ok(document)
}

/// Reads a document that has no workflow id, has another id than `given`, or is not valid.
fn with_owner(bytes: &[u8], given: Option<WorkflowId>, fallback: impl FnOnce() -> Result<WorkflowId>) -> Result<QuestionDocument> {
    let mut document = Document::<Unowned>::parse(bytes)?;
    let id = match (given, document.typed.workflow_id.take()) {
        (Some(given), Some(own)) if given != own => {
            return Err(Error::invalid("workflow_id", format!("is `{own}`, not `{given}`"), "leave it out, or leave out -w"));
        }
        (Some(id), _) | (None, Some(id)) => id,
        (None, None) => fallback()?,
    };
    document.set_field("workflow_id", &id)?;
    QuestionDocument::parse(&document.to_bytes())
}

/// Cuts an array of questions into its elements.
pub fn split(bytes: &[u8]) -> Result<Vec<Box<RawValue>>> {
    let fix = "write a JSON array of question documents: [{…}, {…}]";
    let text = document::utf8(bytes)?;
    check_depth(text)?;
    let items: Vec<Box<RawValue>> =
        serde_json::from_str(text).map_err(|e| Error::invalid("file", format!("is not a JSON array: {e}"), fix))?;
    match items.len() {
        0 => Err(Error::invalid("file", "is an empty array", fix)),
        n if n > MAX_DOCUMENTS => Err(Error::invalid("file", format!("holds {n} questions, the limit is {MAX_DOCUMENTS}"), "split it")),
        _ => Ok(items),
    }
}

/// Fills in fields that the document leaves out: what the environment says about the asker, and what a wait for an event needs.
pub fn complete(mailbox: &Mailbox, question: &mut Question) -> Result<()> {
    program::check_own(mailbox, &question.workflow_id)?;
    complete_wait(question);
    if question.session_id.is_none() {
        let session = program::env("ASKBOX_SESSION_ID").or_else(|| program::env("CLAUDE_CODE_SESSION_ID"));
        // The session is only a hint for resuming: a value that is not a session id is ignored.
        question.session_id = session.and_then(|id| id.parse().ok());
    }
    // The agent that gets the answer runs in another folder, so relative paths become absolute.
    if question.cwd.as_ref().is_none_or(|folder| folder.is_relative()) {
        let here = program::working_folder()?;
        question.cwd = Some(question.cwd.take().map_or(here.clone(), |folder| here.join(folder)));
    }
    question.config_dir = question.config_dir.take().or_else(|| program::env("CLAUDE_CONFIG_DIR").map(PathBuf::from));
    question.config_dir = question.config_dir.take().zip(question.cwd.as_ref()).map(|(dir, folder)| folder.join(dir));
    if question.asked_by.is_none() {
        question.asked_by = program::env("ASKBOX_ASKED_BY");
    }
    if question.parent.is_none() {
        question.parent = program::workflow_from_env("ASKBOX_WORKFLOW_ID")?.filter(|parent| *parent != question.workflow_id);
    }
    let within = program::this_run().filter(|asked| question.parent.as_ref() == Some(&asked.run.round.workflow));
    question.asked_in = within.or(question.asked_in.take());
    question.trace = question.trace.take().or_else(|| Trace::of_environment().ok().flatten());
    let said = question.in_reply_to.take().filter(|id| was_asked_back(mailbox, question, *id));
    question.in_reply_to = said.or_else(|| asked_back(mailbox, &question.workflow_id));
    match &question.checkpoint {
        Some(path) => check_checkpoint(mailbox, path, &question.workflow_id),
        None => {
            let own = mailbox.document(Folder::Checkpoints, &question.workflow_id);
            match store::read_own(&own, &question.workflow_id) {
                Err(e) if e.is_missing_file() => {}
                other => drop(other.map(|_| question.checkpoint = Some(own))?),
            }
            Ok(())
        }
    }
}

/// Says that the trace of a document, or of the environment, is malformed. The question is posted without it.
pub fn warn_of_malformed_trace(document: &QuestionDocument) {
    if document.typed.trace.is_some() {
        return;
    }
    let in_document = document.field("trace").filter(|written| *written != "null").map(|_| "the document's `trace`");
    let in_environment = || Trace::of_environment().is_err().then_some("$TRACEPARENT");
    if let Some(place) = in_document.or_else(in_environment) {
        program::warn(&format!("{place} {Malformed}, so it is ignored: this question belongs to no trace"));
    }
}

/// Fills in a question that waits for an event. It needs no text. An asker that sets a time limit wants to go on after it, so the agent is
/// then told that the event did not come.
fn complete_wait(question: &mut Question) {
    let Some(until) = &question.until else { return };
    if question.question.is_empty() && !question.is_batch() {
        question.question = until.words();
    }
    if question.expires_at.is_some() && question.on_expiry.is_none() && question.default.is_none() {
        question.default = Some(AnswerValue::Text(until.in_vain()));
    }
}

/// True if the person asked back in this round of the workflow.
fn was_asked_back(mailbox: &Mailbox, question: &Question, id: QuestionId) -> bool {
    let round = RoundId { workflow: question.workflow_id.clone(), question: id };
    let answers = round::claimed_or_closed(mailbox, &round).filter_map(|document| document.typed.answer);
    answers.into_iter().any(|answer| answer.asks_back)
}

/// The round of this run, if the person asked back in it. The new question then replies to that round.
fn asked_back(mailbox: &Mailbox, workflow: &WorkflowId) -> Option<QuestionId> {
    let round = program::this_run().map(|asked| asked.run.round).filter(|round| round.workflow == *workflow)?;
    let document = read_question::of_round(&mailbox.round(Folder::Running, &round), &round).ok()?;
    document.typed.answer.filter(|answer| answer.asks_back).map(|_| round.question)
}

/// Refuses a checkpoint that cannot be read, because the relaunched agent would not know its state.
fn check_checkpoint(mailbox: &Mailbox, path: &Path, workflow: &WorkflowId) -> Result<()> {
    match store::read_named(mailbox, path, workflow) {
        Err(e) if e.is_missing_file() => Err(Error::not_found(
            format!("the checkpoint {} does not exist", path.display()),
            format!("save it first: checkpoint save {workflow} < FILE"),
        )),
        other => other.map(drop),
    }
}

/// The name of what comes from standard input.
const STANDARD_INPUT: &str = "standard-input";

/// Reads the files. Below an agent, they must lie where the agent may read.
///
/// # Errors
/// [`Error::Usage`] if there are too many, or if standard input is to be read twice. [`Error::Invalid`] if a file is not to be shown.
pub(super) fn read(args: &AskPost) -> Result<Vec<AttachedFile>> {
    if args.attach.is_empty() {
        return Ok(Vec::new());
    }
    if args.attach.len() > MOST {
        // Each of them may be large, so they are counted before they are read.
        return Err(Error::usage(format!("--attach: {} files are given, the limit is {MOST}", args.attach.len()), "attach fewer"));
    }
    let is_stdin = |path: &Path| path == Path::new("-") || path == Path::new("/dev/stdin");
    let others = [args.question.as_deref().map(Path::new), args.file.as_deref()];
    let readers = args.attach.iter().map(AsRef::as_ref).chain(others.into_iter().flatten()).filter(|path| is_stdin(path)).count();
    if readers > 1 {
        return Err(Error::usage("standard input is named twice", "save one of them as a file"));
    }
    args.attach.iter().map(|path| one(path, is_stdin(path))).collect()
}

fn one(path: &Path, is_stdin: bool) -> Result<AttachedFile> {
    let bytes = program::read_input(path, LARGEST_IMAGE)?;
    let name = match path.file_name() {
        _ if is_stdin => STANDARD_INPUT,
        Some(name) => name
            .to_str()
            .ok_or_else(|| Error::usage(format!("--attach: the name {} is not UTF-8", text::path_word(path)), "rename the file"))?,
        None => return Err(Error::usage(format!("--attach: {} names no file", text::path_word(path)), "name a file")),
    };
    AttachedFile::new(name, bytes)
}
