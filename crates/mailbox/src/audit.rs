//! The audit trail, `audit.jsonl`: one line for each transition, with who, when and why. Lines are appended without fsync, and
//! failures are ignored: the documents are the truth, and a full disk must not undo a transition. When the file reaches
//! [`ROTATE_AT`] bytes it becomes `audit.jsonl.1`, and the older files move up by one.
//!
//! A line holds no text of a question, an answer or an agent. It names the round, whose document has the texts, and it holds hashes
//! of the question and the answer. By the hashes a reader sees whether the document still says the same.

use std::io::{Read, Seek, SeekFrom};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{
    Answer, IoContext, Lock, Mailbox, Question, QuestionId, Result, RoundId, Time, WorkflowId, WorkflowLock, disk, document, time,
};

/// The size at which the file is rotated, in bytes.
pub const ROTATE_AT: u64 = 8 << 20;
/// How many bytes at the end of the file [`record_once`] reads.
const LATELY: u64 = 64 << 10;
/// How many rotated files are kept.
pub const KEEP: u32 = 9;

/// One line of the audit trail.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Entry {
    /// When it happened.
    pub at: Time,
    /// What happened: `posted`, `answered`, `claimed`, `delivered` …
    pub event: String,
    /// The workflow concerned.
    pub workflow_id: Option<WorkflowId>,
    /// The round concerned.
    pub question_id: Option<QuestionId>,
    /// Which text of the question: the `question_hash` that an answer to it has.
    pub question_hash: Option<Uuid>,
    /// Which answer: a hash of its outcome, value and note.
    pub answer_hash: Option<Uuid>,
    /// Who did it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub by: String,
    /// Why, or through what, in words: never those of a question, an answer or an agent.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
}

impl Entry {
    /// Returns an entry for an event of a round, dated now. `event` is one word, such as `posted`.
    pub fn about_round(event: &str, round: &RoundId) -> Self {
        Self { workflow_id: Some(round.workflow.clone()), question_id: Some(round.question), ..Self::about(event) }
    }

    /// Returns an entry for an event of the whole mailbox, dated now. `event` is one word, such as `queue_held`.
    pub fn about(event: &str) -> Self {
        Self { at: time::now(), event: event.into(), ..Self::default() }
    }

    /// Sets the question's hash.
    pub fn question(self, question: &Question) -> Self {
        Self { question_hash: question.hash().ok(), ..self }
    }

    /// Sets the question's hash, and the hash of the answer to it. Without a question's hash, neither is set.
    pub fn answer(self, question_hash: Option<Uuid>, answer: &Answer) -> Self {
        Self { question_hash, answer_hash: question_hash.and_then(|of| answer.hash(&of).ok()), ..self }
    }

    /// Sets who caused the event; at most 200 characters are kept.
    pub fn by(self, by: &str) -> Self {
        Self { by: crate::text::excerpt(by, 200), ..self }
    }

    /// Sets the reason; at most 1,000 characters are kept.
    pub fn why(self, why: impl AsRef<str>) -> Self {
        Self { why: crate::text::excerpt(why.as_ref(), 1000), ..self }
    }
}

/// Appends one entry. Ignores a failure.
pub fn record(mailbox: &Mailbox, entry: Entry) {
    record_all(mailbox, &[entry]);
}

/// Appends an entry, unless the last 64 KiB of the file hold the same event of the same round. For events that several watchers see
/// at once. The workflow's lock lets only one of them look at a time.
pub fn record_once(mailbox: &Mailbox, _lock: &WorkflowLock, entry: Entry) {
    let same =
        |other: &Entry| (&other.event, &other.workflow_id, other.question_id) == (&entry.event, &entry.workflow_id, entry.question_id);
    if !lately(mailbox).is_ok_and(|tail| tail.iter().any(same)) {
        record(mailbox, entry);
    }
}

/// Returns the last entry of this event, if the last 64 KiB of the file hold one.
pub fn last(mailbox: &Mailbox, event: &str) -> Option<Entry> {
    lately(mailbox).ok()?.into_iter().rfind(|entry| entry.event == event)
}

/// Returns the last entries, from at most [`LATELY`] bytes.
fn lately(mailbox: &Mailbox) -> Result<Vec<Entry>> {
    let path = mailbox.audit();
    let mut file = disk::open_to_read(&path)?;
    let length = file.metadata().io("read", &path)?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(LATELY))).io("read", &path)?;
    let mut tail = Vec::new();
    file.take(LATELY).read_to_end(&mut tail).io("read", &path)?;
    Ok(tail.split(|b| *b == b'\n').filter_map(document::json).collect())
}

/// Appends several entries in one write. Ignores a failure.
pub fn record_all(mailbox: &Mailbox, entries: &[Entry]) {
    let mut lines = Vec::new();
    for entry in entries {
        let Ok(line) = crate::document::to_json(entry) else { continue };
        lines.extend(line);
        lines.push(b'\n');
    }
    if !lines.is_empty() && disk::append(&mailbox.audit(), &lines).is_ok_and(|size| size >= ROTATE_AT) {
        rotate(mailbox);
    }
}

fn rotate(mailbox: &Mailbox) {
    let Ok(Some(_lock)) = Lock::try_acquire(&mailbox.lock_file("audit")) else { return };
    let name = |n: u32| mailbox.root().join(format!("audit.jsonl.{n}"));
    // Another process may have rotated the file before the lock was taken.
    if disk::metadata(mailbox.audit()).map_or(0, |m| m.len()) < ROTATE_AT || disk::remove(&name(KEEP)).is_err() {
        return;
    }
    for n in (1..KEEP).rev() {
        let _ = disk::rename(&name(n), &name(n + 1));
    }
    let _ = disk::rename(&mailbox.audit(), &name(1));
}
