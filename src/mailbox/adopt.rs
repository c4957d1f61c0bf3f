//! Answers by hand. A `mv pending/x answered/x` is a valid answer if the file itself or the checkpoint's `user_answer` holds
//! one that is newer than the question; otherwise it is undone.

use std::path::Path;
use std::time::Duration;

use crate::disk::{self, Placed};
use crate::error::{Error, Result};
use crate::id::{QuestionId, RoundId, WorkflowId};
use crate::mailbox::answer::{self, Answer, AnswerValue, Outcome};
use crate::mailbox::audit::{self, Entry};
use crate::mailbox::documents::question::{Question, QuestionDocument};
use crate::mailbox::documents::{checkpoint, validate};
use crate::mailbox::intake::{SETTLE, age, check_name, is_over, modified, quarantine, read_pending, read_round_file, round_of};
use crate::mailbox::layout::{Folder, Mailbox, WorkflowLock};
use crate::mailbox::timers;
use crate::time;

/// What lies in `answered/`.
#[derive(Debug)]
pub enum Adopted {
    /// A complete answer; ready to be claimed.
    Ready(Box<QuestionDocument>, RoundId),
    /// Nothing is there.
    Nothing,
    /// A stranger's file that may still change; look again after this long.
    Unsettled(Duration),
    /// Somebody moved the question without an answer; it is back in `pending/`.
    Undone,
    /// It could not be read and went to quarantine.
    Quarantined,
}

/// Brings `answered/WORKFLOW.json` into its full form: id, answer, who.
pub fn adopt(mailbox: &Mailbox, lock: &WorkflowLock) -> Result<Adopted> {
    let workflow = lock.workflow();
    let path = mailbox.document(Folder::Answered, workflow);
    let read = read_round_file(&path).and_then(|document| {
        check_name(&path, &document.typed, workflow)?;
        validate::question(&document.typed).map_err(|e| e.in_file(&path))?;
        Ok(document)
    });
    let mut document = match read {
        Ok(document) => document,
        Err(e) if e.is_missing_file() => return Ok(Adopted::Nothing),
        Err(Error::Invalid { .. }) if age(&path) < SETTLE => return Ok(Adopted::Unsettled(SETTLE - age(&path))),
        Err(e @ Error::Invalid { .. }) => {
            quarantine(mailbox, &path, &workflow.file_name(), &e.to_string())?;
            return Ok(Adopted::Quarantined);
        }
        Err(e) => return Err(e),
    };
    let round = round_of(mailbox, &document.typed)?;
    if document.typed.round().is_some() && is_over(mailbox, &round) {
        if has_gone_on(mailbox, &round, &document) {
            disk::untouch(&path)?;
            return Ok(Adopted::Nothing);
        }
        let reason = format!("its question_id {} is of a round that is over", round.question);
        quarantine(mailbox, &path, &workflow.file_name(), &reason)?;
        return Ok(Adopted::Quarantined);
    }
    // Only what went through our own checks says which question was on screen.
    let checked = |a: &Answer| a.at.is_some() && a.question_hash.is_some();
    if document.typed.question_id.is_some() && document.typed.answer.as_ref().is_some_and(checked) {
        return Ok(Adopted::Ready(Box::new(document), round));
    }
    let given = match document.typed.answer.take() {
        Some(answer) => Some(answer),
        None => answer_in_checkpoint(mailbox, &path, &document.typed, &round),
    };
    let reply = given
        .ok_or_else(|| "no answer came with it".to_owned())
        .and_then(|answer| validate::reply(&document.typed, answer).map_err(|e| e.to_string()));
    let reply = match reply {
        Ok(reply) => reply,
        Err(_) if age(&path) < SETTLE => return Ok(Adopted::Unsettled(SETTLE - age(&path))),
        Err(why) => return undo(mailbox, &path, &round, &why),
    };
    let by_hand = |s: &str| if s.is_empty() { "hand".to_owned() } else { s.to_owned() };
    let reply = Answer {
        by: by_hand(&reply.by),
        channel: by_hand(&reply.channel),
        at: Some(time::to_the_millisecond(reply.at.unwrap_or_else(|| modified(&path).into()))),
        question_hash: Some(document.typed.hash()?),
        ..reply
    };
    // The next process may look for it there, and there it is no longer taken for an answer to another question.
    let _ = answer::write_checkpoint(mailbox, &document, &round, &reply);
    let event = if reply.outcome == Outcome::Declined { "declined" } else { "answered" };
    let entry = Entry::of(event, &round).by(&reply.by).why("a file put into answered/");
    document.typed.question_id = Some(round.question);
    document.typed.answer = Some(reply);
    document.update()?;
    disk::replace(&path, &document.to_bytes())?;
    timers::disarm(mailbox, &document.typed, &round);
    audit::record(mailbox, entry);
    Ok(Adopted::Ready(Box::new(document), round))
}

/// Whether an answered document is of a round that was claimed with this answer: a power cut can bring back its name from before
/// the claim.
fn has_gone_on(mailbox: &Mailbox, round: &RoundId, document: &QuestionDocument) -> bool {
    let claimed = [Folder::Running, Folder::Parked, Folder::Closed].map(|folder| read_round_file(&mailbox.round(folder, round)));
    claimed.into_iter().flatten().any(|claimed| claimed.typed.answer.is_some() && claimed.typed.answer == document.typed.answer)
}

/// The checkpoint's `user_answer`, if it was given to this question: written after it was asked, and not to another round.
fn answer_in_checkpoint(mailbox: &Mailbox, path: &Path, question: &Question, round: &RoundId) -> Option<Answer> {
    let own = mailbox.document(Folder::Checkpoints, &round.workflow);
    let candidates = question.checkpoint.iter().cloned().chain([own]);
    for candidate in candidates {
        let Ok(document) = checkpoint::read(&candidate) else { continue };
        if document.typed.workflow_id.as_ref().is_some_and(|w| *w != round.workflow) {
            continue;
        }
        let value = document.typed.user_answer.clone().and_then(|v| AnswerValue::from_json(v).ok());
        let Some(value) = value else { continue };
        // `mv` keeps the question's own time; the answer was written later than that. What was written within the same tick
        // of the clock may be of an earlier round: a human asked again is better than a decision invented.
        let later = || modified(&candidate) > modified(path);
        let of_this_round = match document.typed.user_answer_to {
            Some(id) if id == round.question => true,
            // Our note on an earlier round, over which a hand that does not know of it wrote something else.
            Some(id) => later() && was_answered_otherwise(mailbox, &round.workflow, id, &value),
            None => later(),
        };
        if of_this_round {
            return Some(Answer { at: Some(modified(&candidate).into()), ..Answer::value(value, "hand", "hand") });
        }
    }
    None
}

/// Whether an earlier round is known to have had another answer than this.
fn was_answered_otherwise(mailbox: &Mailbox, workflow: &WorkflowId, question: QuestionId, value: &AnswerValue) -> bool {
    let round = RoundId { workflow: workflow.clone(), question };
    let answer = [Folder::Closed, Folder::Running, Folder::Parked]
        .iter()
        .find_map(|folder| read_round_file(&mailbox.round(*folder, &round)).ok())
        .and_then(|document| document.typed.answer);
    answer.is_some_and(|a| a.value.as_ref() != Some(value))
}

/// Puts a question back that somebody moved to `answered/` without an answer; `false` where nothing of that kind is there.
pub fn take_back(mailbox: &Mailbox, lock: &WorkflowLock) -> Result<bool> {
    let path = mailbox.document(Folder::Answered, lock.workflow());
    let Ok(document) = read_round_file(&path) else { return Ok(false) };
    if document.typed.answer.is_some() || check_name(&path, &document.typed, lock.workflow()).is_err() {
        return Ok(false);
    }
    let round = round_of(mailbox, &document.typed)?;
    if answer_in_checkpoint(mailbox, &path, &document.typed, &round).is_some() {
        return Ok(false);
    }
    Ok(matches!(undo(mailbox, &path, &round, "no answer came with it")?, Adopted::Undone))
}

fn undo(mailbox: &Mailbox, path: &Path, round: &RoundId, why: &str) -> Result<Adopted> {
    if disk::rename(path, &mailbox.document(Folder::Pending, &round.workflow))? == Placed::NameExists {
        let pending = read_pending(mailbox, &round.workflow).and_then(|d| round_of(mailbox, &d.typed));
        let holds = if pending.is_ok_and(|p| p == *round) { "still holds the question" } else { "holds a newer question" };
        quarantine(mailbox, path, &round.workflow.file_name(), &format!("put into answered/, but {why}, and pending/ {holds}"))?;
        return Ok(Adopted::Quarantined);
    }
    audit::record(mailbox, Entry::of("undone", round).by("askbox").why(format!("moved to answered/, but {why}")));
    Ok(Adopted::Undone)
}
