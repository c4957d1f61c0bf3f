//! The round as a program gets it: one JSON object.

use serde::Serialize;
use serde_json::Value;

use crate::attempt::once;
use crate::attempt::record::{self, Run};
use crate::prompt::message::{self, Checkpoint};
use askbox_mailbox::checkpoints::store;
use askbox_mailbox::{Content, Error, Mailbox, Question, QuestionDocument, Result};

/// The name of the file in the attempt's folder.
pub const FILE: &str = "round.json";

/// The version of the object.
const VERSION: u32 = 1;

#[derive(Serialize)]
struct RoundInput<'a> {
    v: u32,
    workflow_id: &'a str,
    question_id: String,
    attempt: u32,
    /// `answer`, `task` or `children`.
    why: &'static str,
    /// The document as it was claimed.
    document: Value,
    /// The content of the checkpoint; null if there is none that can be read.
    checkpoint: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    earlier: Option<Earlier>,
    /// The calls that earlier attempts of the round have marked with `askbox once`.
    once: Vec<String>,
}

/// The attempt before this one, and how it ended.
#[serde_with::skip_serializing_none]
#[derive(Serialize)]
struct Earlier {
    attempt: u32,
    why: Option<String>,
    exit: Option<i32>,
    signal: Option<i32>,
}

/// The object on one line, with its line feed.
pub fn of(mailbox: &Mailbox, document: &QuestionDocument, run: &Run) -> Result<String> {
    let input = RoundInput {
        v: VERSION,
        workflow_id: run.workflow_id.as_str(),
        question_id: run.question_id.to_string(),
        attempt: run.attempt,
        why: match document.typed.content() {
            Content::Question => "answer",
            Content::Task(_) => "task",
            Content::Results(_) => "children",
        },
        document: serde_json::from_slice(&document.to_bytes()).unwrap_or_default(),
        checkpoint: checkpoint(mailbox, &document.typed),
        earlier: earlier(mailbox, run),
        once: once::calls(mailbox, &run.round()),
    };
    let line =
        serde_json::to_string(&input).map_err(|e| Error::failed(format!("the round cannot be written as JSON: {e}"), "askbox doctor"))?;
    Ok(line + "\n")
}

fn checkpoint(mailbox: &Mailbox, question: &Question) -> Value {
    let Checkpoint::At(path) = message::checkpoint(mailbox, question) else { return Value::Null };
    let read = store::read_named(mailbox, &path, &question.workflow_id);
    read.ok().and_then(|checkpoint| serde_json::from_slice(&checkpoint.to_bytes()).ok()).unwrap_or_default()
}

/// The newest attempt before this one. A crash can leave an attempt without a record.
fn earlier(mailbox: &Mailbox, run: &Run) -> Option<Earlier> {
    let last = (1..run.attempt).rev().find_map(|attempt| record::read(mailbox, &run.round(), attempt).ok())?;
    let failure = last.failure.as_ref();
    Some(Earlier {
        attempt: last.attempt,
        exit: failure.and_then(|failure| failure.exit),
        signal: failure.and_then(|failure| failure.signal),
        why: last.why,
    })
}
