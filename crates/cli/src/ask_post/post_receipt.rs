//! Prints the receipts and answers of `ask-post`, and the warning that the process which gets the answer will know only the question.
//!
//! A question that the same run has asked before, and that is answered: an earlier attempt asked it and was killed. The person is not asked
//! again, and the answer goes its way.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::args::common::Common;
use crate::program::{self, Context, ErrorReport};
use askbox_mailbox::{
    Answer, AnswerValue, Error, Folder, Mailbox, Outcome, Question, Receipt, Result, RoundId, WorkflowId, match_option, post, round, text,
};
use askbox_run::claim::plan;

/// Prints the receipt: `QUESTION_POSTED:ID`.
pub fn acknowledge(common: &Common, receipt: &Receipt, state: &str) -> Result<()> {
    let RoundId { workflow, question } = &receipt.round;
    let value = json!({"state": state, "workflow_id": workflow, "question_id": question, "repeated": receipt.repeated});
    program::print_result(common.json, &value, &format!("QUESTION_POSTED:{workflow}\n"))
}

/// Prints an answer that came in time, as its bare value. Returns the exit status.
pub fn hand_over(common: &Common, round: &RoundId, question: &Question, answer: &Answer) -> Result<u8> {
    let own_words = match_option::told(question, answer);
    let declined = answer.outcome == Outcome::Declined;
    if common.json {
        program::print_json(&json!({
            "state": answer.event(),
            "workflow_id": round.workflow, "question_id": round.question,
            "value": answer.value.as_ref().map(AnswerValue::to_json), "own_words": own_words, "by": answer.by, "note": answer.note,
        }))?;
    } else if let Some(asked) = answer.counter_question() {
        program::say(&format!("the user asks back: {}\nreply by asking again\n", text::one_line(asked)));
    } else if declined {
        program::say(&format!("declined: {}\n", text::one_line(answer.note.as_deref().unwrap_or("the user does not answer this"))));
    } else {
        match own_words {
            Value::Bool(true) => program::say("the user answered in their own words, not with one of the options\n"),
            Value::Array(ids) if !ids.is_empty() => {
                let ids: Vec<_> = ids.iter().filter_map(Value::as_str).collect();
                program::say(&format!("the user answered in their own words, not with one of the options: {}\n", ids.join(", ")));
            }
            _ => {}
        }
        if let Some(note) = &answer.note {
            program::say(&format!("the user added: {}\n", text::one_line(note)));
        }
        program::print_value(&answer.value.as_ref().map(AnswerValue::to_text).unwrap_or_default())?;
    }
    Ok(if declined { 4 } else { 0 })
}

/// Prints that question `n` of many, counted from 0, was refused.
pub fn refuse(common: &Common, n: usize, e: &Error) -> Result<()> {
    program::say(&program::complaint(e, &format!("[{n}]: ")));
    if common.json { program::print_json(&ErrorReport::of(e, Some(n))) } else { Ok(()) }
}

/// Warns about questions that are posted without a checkpoint, if no session can be continued for them.
pub fn warn_without_checkpoint(mailbox: &Mailbox, context: &Context, asked: &[Question]) {
    let unknown = knows_nothing(mailbox, context, asked);
    let (whose, first) = match unknown[..] {
        [] => return,
        [one] => (one.to_string(), one),
        [first, ..] => (format!("{first} and {} more", unknown.len() - 1), first),
    };
    program::warn(&format!(
        "{whose}: there is no checkpoint, so the process that gets the answer will know only the question; save one: checkpoint save {first} --next-action TEXT"
    ));
}

/// Warns about questions whose default never applies, because they have no time limit.
pub fn warn_without_timeout(asked: &[Question]) {
    for question in asked.iter().filter(|question| question.expires_at.is_none()) {
        if let Some(default) = &question.default {
            let (id, default) = (&question.workflow_id, text::excerpt(&default.to_text(), 60));
            program::warn(&format!(
                "{id}: the default `{default}` never applies, because the question has no time limit: add --timeout 2h"
            ));
        }
    }
}

fn knows_nothing<'a>(mailbox: &Mailbox, context: &Context, asked: &'a [Question]) -> Vec<&'a WorkflowId> {
    // An agent that asks may not have written the first message of its transcript.
    let until = Instant::now() + if program::this_run().is_some() { plan::FIRST_MESSAGE } else { Duration::ZERO };
    let config = || context.config().unwrap_or_default();
    let knows_nothing = |q: &&Question| plan::knows_nothing(mailbox, config, q, until).unwrap_or(false);
    asked.iter().filter(knows_nothing).map(|question| &question.workflow_id).collect()
}

/// The receipt of the earlier question, if there is one.
pub fn find(mailbox: &Mailbox, question: &Question) -> Option<Receipt> {
    let run = program::this_run()?.run;
    let earlier = round::latest(mailbox, &question.workflow_id).filter(|earlier| earlier.folder != Folder::Pending)?;
    let asked_in = |question: &Question| question.asked_in.as_ref().map(|asked| asked.run.clone());
    let is_of_run = match asked_in(&earlier.document.typed) {
        // The run's own answer waits until the run has ended.
        None => earlier.folder == Folder::Answered && run.round.workflow == question.workflow_id,
        Some(asked) => asked.round == run.round && asked.attempt < run.attempt,
    };
    let is_it = is_of_run && post::asks_the_same(&earlier.document.typed, question);
    is_it.then(|| repeated(Receipt { round: earlier.id, question: earlier.document.typed, repeated: true }))
}

/// Says where the answer goes.
pub fn repeated(receipt: Receipt) -> Receipt {
    let id = &receipt.round.workflow;
    let way = match program::this_run().is_some_and(|asked| asked.run.round.workflow == *id) {
        true => "end this run, and the next one gets the answer".to_owned(),
        false => format!("see where the answer went: relaunch status {id}"),
    };
    program::say(&format!("{id}: this was asked before in this run, and is answered; {way}\n"));
    receipt
}
