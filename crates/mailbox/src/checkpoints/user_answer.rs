//! The field `user_answer` of a checkpoint. Fresh processes look for the answer there, and people may write an answer there by hand.
//!
//! A workflow has up to two checkpoints: the file that its question names, and `checkpoints/WORKFLOW.json`. An answer is written
//! into each of them that exists, together with `user_answer_to`, the id of the round that it answers.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde_json::Value;

use crate::checkpoints::store;
use crate::{
    Answer, AnswerValue, Checkpoint, Folder, Mailbox, Question, QuestionDocument, QuestionId, Result, RoundId, Stored, WorkflowId, disk,
    read_question, round, time,
};

/// The result of [`write()`].
#[derive(Debug, Default)]
pub struct Written {
    /// A warning that names the checkpoint that could not be written, and the reason.
    pub warning: Option<String>,
    /// The checkpoints that were written, each with its earlier content.
    replaced: Vec<(PathBuf, Vec<u8>)>,
}

impl Written {
    /// Restores the earlier contents. Ignores failures.
    pub fn undo(self) {
        self.replaced.iter().for_each(|(path, bytes)| drop(disk::replace(path, bytes)));
    }
}

/// Writes an answer into the workflow's checkpoints. These are copies for convenience, so a failure is only a warning.
pub fn write(mailbox: &Mailbox, document: &QuestionDocument, round: &RoundId, reply: &Answer) -> Written {
    let value = reply.value.as_ref().map_or(Value::Null, AnswerValue::to_json);
    let named = document.typed.checkpoint.as_deref();
    let own = mailbox.document(Folder::Checkpoints, &round.workflow);
    let mut written = Written::default();
    let mut write = |path: &Path, must_exist: bool| {
        match set(path, round, &value) {
            Err(e) if e.is_missing_file() && !must_exist => {}
            Err(e) => written.warning = Some(format!("the checkpoint does not hold the answer: {e}")),
            Ok(before) => written.replaced.push((path.to_path_buf(), before)),
        };
    };
    match named {
        // A checkpoint under a temporary folder may be gone by now. Then its copy in checkpoints/ is enough.
        Some(path) if path != own => {
            write(path, !disk::exists(&own));
            write(&own, false);
        }
        _ => write(&own, false),
    }
    written
}

/// Sets `user_answer` and `user_answer_to`, and keeps all other fields. Returns the file's earlier content.
///
/// # Security
/// The path comes from a question. Only a file that names this workflow as its own is changed. So a question cannot make askbox
/// change any other file of the user.
fn set(path: &Path, round: &RoundId, value: &Value) -> Result<Vec<u8>> {
    let before = disk::read(path, Checkpoint::LARGEST)?;
    let mut document = store::parse_proven(&before, &round.workflow).map_err(|e| e.in_file(path))?;
    document.set_field("user_answer", value)?;
    document.set_field("user_answer_to", &round.question)?;
    disk::replace(path, &document.to_file().map_err(|e| e.in_file(path))?)?;
    Ok(before)
}

/// Removes the answer to a round from the checkpoints that hold it. Returns a warning if that fails. A failure does no harm:
/// `taken_back` in the question says that this answer no longer counts.
pub fn clear(mailbox: &Mailbox, question: &Question, round: &RoundId) -> Option<String> {
    let own = mailbox.document(Folder::Checkpoints, &round.workflow);
    let held = question.checkpoint.iter().cloned().chain([own]);
    let cleared = held.map(|path| match forget(&path, round) {
        Err(e) if e.is_missing_file() => Ok(()),
        other => other,
    });
    cleared.filter_map(Result::err).next().map(|e| format!("a checkpoint still holds the answer: {e}"))
}

/// Removes from the checkpoints an answer to a question that still waits. A program that died between writing the answer there and
/// accepting it left it behind. The caller holds the workflow's lock and knows that nothing else holds the answer.
///
/// # Errors
/// [`Error::Invalid`](crate::error::Error::Invalid) if the question cannot be written as JSON.
pub fn clear_unaccepted(mailbox: &Mailbox, question: &Question) -> Result<()> {
    let own = mailbox.document(Folder::Checkpoints, &question.workflow_id);
    let held: Vec<_> = question.checkpoint.iter().chain([&own]).filter(|path| disk::exists(path)).collect();
    if held.is_empty() {
        return Ok(());
    }
    let round = round::of_pending(mailbox, question)?;
    // A checkpoint may be long, and nearly none names the round. So the text is searched before it is parsed.
    let id = round.question.to_string();
    let names_round = |bytes: Vec<u8>| std::str::from_utf8(&bytes).is_ok_and(|text| text.contains(&id));
    if held.into_iter().any(|path| disk::read(path, Checkpoint::LARGEST).is_ok_and(names_round)) {
        // A failure does no harm: the next program that looks tries again.
        let _ = clear(mailbox, question, &round);
    }
    Ok(())
}

/// Removes `user_answer` and `user_answer_to` if they belong to this round, and keeps all other fields.
fn forget(path: &Path, round: &RoundId) -> Result<()> {
    let mut document = store::parse_proven(&disk::read(path, Checkpoint::LARGEST)?, &round.workflow).map_err(|e| e.in_file(path))?;
    if document.typed.user_answer_to != Some(round.question) {
        return Ok(());
    }
    (document.typed.user_answer, document.typed.user_answer_to) = (None, None);
    document.update()?;
    disk::replace(path, &document.to_file().map_err(|e| e.in_file(path))?)
}

/// Returns the answer that a person wrote into a checkpoint as `user_answer`, if it belongs to the question in the file `path`. It
/// does if `user_answer_to` names this round, or if it was written after the question and is not known to be the answer of another
/// round.
pub fn given_by_hand(mailbox: &Mailbox, path: &Path, question: &Question, round: &RoundId) -> Option<Answer> {
    let own = mailbox.document(Folder::Checkpoints, &round.workflow);
    let candidates = question.checkpoint.iter().cloned().chain([own]);
    for candidate in candidates {
        let Ok(document) = store::read_named(mailbox, &candidate, &round.workflow) else { continue };
        let value = document.typed.user_answer.clone().and_then(|v| AnswerValue::from_json(v).ok());
        // An empty value is not an answer.
        let Some(value) = value.filter(|v| !v.is_blank()) else { continue };
        // `mv` keeps the question's modification time, so an answer to this question is younger. A checkpoint with the same time
        // may hold the answer of an earlier round: asking the human again is better than inventing a decision. A checkpoint from
        // before the clock was set back has a later date than every question, so its date proves nothing.
        let latest = SystemTime::now() + time::CLOCK_SKEW;
        let (asked, changed) = (read_question::modified(path), read_question::modified(&candidate));
        let is_younger = || changed > asked && (changed <= latest || asked > latest);
        let of_this_round = match document.typed.user_answer_to {
            // The answer was taken back, and the process died before it cleared the checkpoint.
            Some(id) if id == round.question && question.taken_back.is_some() => false,
            Some(id) if id == round.question => true,
            // askbox noted an earlier round here. A person who does not know the field may have written another answer over the old one.
            Some(id) => is_younger() && was_answered_otherwise(mailbox, &round.workflow, id, &value),
            None => is_younger(),
        };
        if of_this_round {
            let at = Some(read_question::modified(&candidate).into());
            return Some(Answer { at, ..Answer::value(value, "hand", "hand") });
        }
    }
    None
}

/// True if an earlier round is known to have had an answer other than `value`.
fn was_answered_otherwise(mailbox: &Mailbox, workflow: &WorkflowId, question: QuestionId, value: &AnswerValue) -> bool {
    let round = RoundId { workflow: workflow.clone(), question };
    let answer = round::claimed_or_closed(mailbox, &round).next().and_then(|document| document.typed.answer);
    answer.is_some_and(|a| a.value.as_ref() != Some(value))
}
