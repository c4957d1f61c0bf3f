//! The answer, and the transition pending → answered.
//!
//! Under the workflow's lock: `user_answer` into the checkpoint (durable) → the complete document appears in `answered/` by
//! a no-replace link (the commit point: it decides every race) → `pending/`'s copy is unlinked. A crash anywhere rolls
//! forward at the next look.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::disk::{self, Placed};
use crate::error::{Error, Result};
use crate::id::{QuestionId, RoundId, WorkflowId};
use crate::mailbox::audit::{self, Entry};
use crate::mailbox::documents::question::{Question, QuestionDocument};
use crate::mailbox::documents::{checkpoint, validate};
use crate::mailbox::layout::{Folder, Mailbox, WorkflowLock};
use crate::mailbox::{adopt, close, intake};
use crate::time::{self, Time};

/// `by` of an answer that nobody gave: the asker's default applied.
pub const DEFAULT: &str = "default";

/// The largest answer, in bytes of text.
pub const MAX_ANSWER: usize = 4 << 20;

/// An answer's value: text, a list (multi-choice), or an object by question id (batch).
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum AnswerValue {
    /// One value: an option's key, `yes`, a number as text, or free text.
    Text(String),
    /// Several options.
    List(Vec<String>),
    /// A batch: each part's answer by its id.
    Batch(Map<String, Value>),
}

impl<'de> Deserialize<'de> for AnswerValue {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::from_json(Value::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

impl AnswerValue {
    /// Reads what a stranger may have written as `user_answer`: numbers and booleans become their text.
    pub fn from_json(value: Value) -> Result<Self, &'static str> {
        Ok(match value {
            Value::String(s) => Self::Text(s),
            Value::Number(n) => Self::Text(n.to_string()),
            Value::Bool(b) => Self::Text(if b { "yes" } else { "no" }.into()),
            Value::Array(items) => Self::List(
                items
                    .into_iter()
                    .map(|item| match item {
                        Value::String(s) => Ok(s),
                        Value::Number(n) => Ok(n.to_string()),
                        _ => Err("a list of answers holds text only"),
                    })
                    .collect::<Result<_, _>>()?,
            ),
            Value::Object(map) => Self::Batch(map),
            Value::Null => return Err("an answer is not null"),
        })
    }

    /// As plain JSON, as it goes into a checkpoint's `user_answer`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        match self {
            Self::Text(s) => Value::String(s.clone()),
            Self::List(items) => Value::Array(items.iter().cloned().map(Value::String).collect()),
            Self::Batch(map) => Value::Object(map.clone()),
        }
    }

    /// As text for a prompt or a shell: a single value bare, a list joined by `, `, a batch as JSON.
    #[must_use]
    pub fn to_text(&self) -> String {
        match self {
            Self::Text(s) => s.clone(),
            Self::List(items) => items.join(", "),
            Self::Batch(map) => Value::Object(map.clone()).to_string(),
        }
    }
}

/// How the asking ended, for the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// There is a value.
    #[default]
    Answered,
    /// The human refuses to answer; the agent is told so.
    Declined,
}

/// A reply. `value` is there exactly when the outcome is `answered`. A hand-written `"answer": "merge"` is read as its value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(from = "Spelling")]
#[cfg_attr(feature = "schema", schemars(!from))]
pub struct Answer {
    /// Answered or declined.
    #[serde(default)]
    pub outcome: Outcome,
    /// The value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<AnswerValue>,
    /// Who answered; `default` where the asker's default applied.
    #[serde(default)]
    pub by: String,
    /// Through what: `ask-answer`, `inbox`, `hand`, `timer`.
    #[serde(default)]
    pub channel: String,
    /// When.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Time>,
    /// The hash of the question that the person saw.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question_hash: Option<Uuid>,
    /// The human's words beside the value, or the reason of a refusal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// The full form has an `outcome` or a `value`; any other JSON is the bare value that a hand may write instead, a batch's too.
struct Spelling(Full);

#[derive(Deserialize)]
struct Full {
    outcome: Option<Outcome>,
    value: Option<AnswerValue>,
    #[serde(default)]
    by: String,
    #[serde(default)]
    channel: String,
    at: Option<Time>,
    question_hash: Option<Uuid>,
    note: Option<String>,
}

impl<'de> Deserialize<'de> for Spelling {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error;
        let json = Value::deserialize(deserializer)?;
        if json.get("outcome").is_some() || json.get("value").is_some() {
            return serde_json::from_value(json).map(Self).map_err(D::Error::custom);
        }
        let value = AnswerValue::from_json(json).map_err(D::Error::custom)?;
        Ok(Self(Full {
            outcome: None,
            value: Some(value),
            by: String::new(),
            channel: String::new(),
            at: None,
            question_hash: None,
            note: None,
        }))
    }
}

impl From<Spelling> for Answer {
    fn from(Spelling(Full { outcome, value, by, channel, at, question_hash, note }): Spelling) -> Self {
        Self { outcome: outcome.unwrap_or_default(), value, by, channel, at, question_hash, note }
    }
}

impl Answer {
    /// A value, from somebody, now.
    #[must_use]
    pub fn value(value: AnswerValue, by: impl Into<String>, channel: impl Into<String>) -> Self {
        Self {
            outcome: Outcome::Answered,
            value: Some(value),
            by: by.into(),
            channel: channel.into(),
            at: Some(time::now()),
            question_hash: None,
            note: None,
        }
    }

    /// A refusal.
    #[must_use]
    pub fn declined(note: Option<String>, by: impl Into<String>, channel: impl Into<String>) -> Self {
        Self { outcome: Outcome::Declined, value: None, note, ..Self::value(AnswerValue::Text(String::new()), by, channel) }
    }

    /// `answered by ann through ask-answer, 5m ago`.
    #[must_use]
    pub fn who(&self) -> String {
        let verb = match self.outcome {
            Outcome::Answered => "answered",
            Outcome::Declined => "declined",
        };
        let or = |s: &str, other: &str| if s.is_empty() { other.to_owned() } else { crate::text::excerpt(s, 60) };
        let age = self.at.map_or(String::new(), |at| format!(", {} ago", time::human(time::since(at))));
        format!("{verb} by {} through {}{age}", or(&self.by, "somebody"), or(&self.channel, "another program"))
    }
}

/// What came of an answer.
#[derive(Debug)]
pub struct Accepted {
    /// The round it answers.
    pub round: RoundId,
    /// Something the human should know: the checkpoint could not be written, say. The answer is safe all the same.
    pub warning: Option<String>,
}

/// Answers (or declines) the pending question of `workflow`. With `expect`, only that round is answered: so a screen that
/// shows an older question cannot answer a newer one.
///
/// # Errors
/// [`Error::NotFound`] nothing is pending, [`Error::Conflict`] somebody was first, [`Error::Invalid`] the value does not fit.
pub fn answer(mailbox: &Mailbox, workflow: &WorkflowId, expect: Option<QuestionId>, reply: Answer) -> Result<Accepted> {
    let lock = mailbox.lock(workflow)?;
    answer_locked(mailbox, &lock, expect, |_| Ok(reply.clone()))?.ok_or_else(|| nothing_pending(mailbox, workflow, reply))
}

/// [`answer`] with a reply that is worked out from the question itself, which nobody can exchange meanwhile; `None` where nothing
/// is pending. Others wait while `reply` runs.
///
/// # Errors
/// As [`answer`], and whatever `reply` says.
pub fn answer_pending(
    mailbox: &Mailbox,
    workflow: &WorkflowId,
    expect: Option<QuestionId>,
    reply: impl FnOnce(&Question) -> Result<Answer>,
) -> Result<Option<Accepted>> {
    answer_locked(mailbox, &mailbox.lock(workflow)?, expect, reply)
}

fn answer_locked(
    mailbox: &Mailbox,
    lock: &WorkflowLock,
    expect: Option<QuestionId>,
    reply: impl FnOnce(&Question) -> Result<Answer>,
) -> Result<Option<Accepted>> {
    let workflow = lock.workflow();
    let settled = intake::settle(mailbox, lock)?;
    let mut document = match settled.map_or_else(|| intake::read_pending(mailbox, workflow), Ok) {
        Ok(document) => document,
        // Moved by hand, but the answer is what comes now.
        Err(e) if e.is_missing_file() && adopt::take_back(mailbox, lock)? => intake::read_pending(mailbox, workflow)?,
        Err(e) if e.is_missing_file() => return Ok(None),
        Err(e) => return Err(e),
    };
    let round = intake::round_of(mailbox, &document.typed)?;
    if let Some(expected) = expect.filter(|e| *e != round.question) {
        return Err(Error::conflict(
            format!("{workflow} asks another question by now (round {}, not {expected})", round.question),
            format!("see it with: ask-answer show {workflow}"),
        ));
    }
    let reply = validate::reply(&document.typed, reply(&document.typed)?)?;
    let entry =
        Entry::of(if reply.outcome == Outcome::Declined { "declined" } else { "answered" }, &round).by(&reply.by).why(&reply.channel);
    let target = mailbox.document(Folder::Answered, workflow);
    // Looked at before the checkpoint is touched: that still holds the earlier answer.
    if target.symlink_metadata().is_ok() {
        return Err(taken(mailbox, workflow, &round));
    }
    let reply = Answer { question_hash: Some(document.typed.hash()?), ..reply };
    document.set_field("question_id", &round.question)?;
    document.set_field("answer", &reply)?;
    // Written before the checkpoint is touched: a full disk shows while nothing has changed yet, and the disk has begun with it.
    let staged = disk::stage(&target, &document.to_bytes())?;
    let Written { mut warning, replaced } = write_checkpoint(mailbox, &document, &round, &reply);
    match staged.place() {
        Ok(Placed::Done) => {}
        // What was not accepted must not stand in a checkpoint.
        other => {
            replaced.iter().for_each(|(path, bytes)| drop(disk::replace(path, bytes)));
            return Err(other.map_or_else(|e| e, |_| taken(mailbox, workflow, &round)));
        }
    }
    // The answer counts. What else is to be done is done at the next look, should it fail now.
    if let Err(e) = intake::retire_pending(mailbox, &round, reply.at) {
        warning.get_or_insert(format!("the answer is safe, but its question stays in pending/ until the next look: {e}"));
    }
    super::timers::disarm(mailbox, &document.typed, &round);
    audit::record(mailbox, entry);
    Ok(Some(Accepted { round, warning }))
}

/// What came of writing an answer into its checkpoints.
#[derive(Debug, Default)]
pub(super) struct Written {
    /// Where one could not be written.
    pub(super) warning: Option<String>,
    /// Each that was, as it was before.
    replaced: Vec<(PathBuf, Vec<u8>)>,
}

/// The checkpoint is a convenience copy: where it cannot be written, the answer is kept all the same.
pub(super) fn write_checkpoint(mailbox: &Mailbox, document: &QuestionDocument, round: &RoundId, reply: &Answer) -> Written {
    let value = reply.value.as_ref().map_or(Value::Null, AnswerValue::to_json);
    let named = document.typed.checkpoint.as_deref();
    let own = mailbox.document(Folder::Checkpoints, &round.workflow);
    let mut written = Written::default();
    let mut write = |path: &Path, must: bool| {
        match checkpoint::set_user_answer(path, &round.workflow, round.question, &value) {
            Err(e) if e.is_missing_file() && !must => {}
            Err(e) => written.warning = Some(format!("the checkpoint does not hold the answer: {e}")),
            Ok(before) => written.replaced.push((path.to_path_buf(), before)),
        };
    };
    match named {
        // A checkpoint under a temporary folder may be gone by now; then its copy in checkpoints/ serves.
        Some(path) if path != own => {
            write(path, !own.exists());
            write(&own, false);
        }
        _ => write(&own, false),
    }
    written
}

fn taken(mailbox: &Mailbox, workflow: &WorkflowId, round: &RoundId) -> Error {
    let earlier = intake::read_round_file(&mailbox.document(Folder::Answered, workflow));
    let who = earlier.ok().and_then(|d| d.typed.answer).map_or_else(|| "answered".into(), |a| a.who());
    Error::conflict(
        format!("an earlier answer of {workflow} ({who}) still waits for its run; the question of round {} stays open", round.question),
        format!("start the watcher (relaunch watch) or run it now: relaunch {workflow}"),
    )
}

/// Nothing is pending: says who won, and keeps a late answer.
fn nothing_pending(mailbox: &Mailbox, workflow: &WorkflowId, reply: Answer) -> Error {
    let Some(last) = close::latest_round(mailbox, workflow) else {
        return Error::not_found(format!("no question of {workflow} is pending"), "see what is: ask-answer list");
    };
    let first = last.document.typed.answer.as_ref();
    let hint = format!("see it with: ask-answer show {workflow}");
    // Nobody had answered when the round ended: this answer is late, not second.
    if first.is_none_or(|a| a.by == DEFAULT) {
        let state = last.document.typed.closed.as_ref().map_or("over", |c| c.state.word());
        let state = if first.is_some() { "answered by the asker's default" } else { state };
        let kept = match close::keep_late_answer(mailbox, &last, reply) {
            Ok(()) => "your answer is kept with it and nothing is run".to_owned(),
            Err(e) => format!("your answer could not be kept with it: {e}"),
        };
        return Error::conflict(format!("the question of {workflow} was {state} before you answered; {kept}"), hint);
    }
    let who = first.map_or_else(|| "answered".into(), Answer::who);
    Error::conflict(format!("the question of {workflow} was already {who}"), hint)
}
