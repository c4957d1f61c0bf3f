//! What `ask-post` prints.

use serde_json::json;

use crate::error::{Error, Result};
use crate::mailbox::documents::answer::Outcome;
use crate::mailbox::transitions::post::Receipt;
use crate::mailbox::{Answer, AnswerValue};
use crate::surface::args::common::Common;
use crate::surface::program;
use crate::text;

/// Prints the receipt: `QUESTION_POSTED:ID`.
pub fn acknowledge(common: &Common, receipt: &Receipt, state: &str) -> Result<()> {
    if !common.json {
        return program::print(&format!("QUESTION_POSTED:{}\n", receipt.round.workflow));
    }
    program::print_json(&json!({
        "state": state, "workflow_id": receipt.round.workflow, "question_id": receipt.round.question, "repeated": receipt.repeated,
    }))
}

/// Prints an answer that came in time, as its bare value. Returns the exit status.
pub fn hand_over(common: &Common, receipt: &Receipt, answer: &Answer) -> Result<u8> {
    let declined = answer.outcome == Outcome::Declined;
    if common.json {
        program::print_json(&json!({
            "state": if declined { "declined" } else { "answered" },
            "workflow_id": receipt.round.workflow, "question_id": receipt.round.question,
            "value": answer.value.as_ref().map(AnswerValue::to_json), "by": answer.by, "note": answer.note,
        }))?;
    } else if declined {
        program::say(&format!("declined: {}\n", text::one_line(answer.note.as_deref().unwrap_or("the user does not answer this"))));
    } else {
        program::print_value(&answer.value.as_ref().map(AnswerValue::to_text).unwrap_or_default())?;
    }
    Ok(if declined { 4 } else { 0 })
}

/// Prints that question `n` of many, counted from 0, was refused.
pub fn refuse(common: &Common, n: usize, e: &Error) -> Result<()> {
    program::say(&format!("error: [{n}]: {}\nhint: {}\n", program::message(e), text::one_line(&e.hint())));
    if !common.json {
        return Ok(());
    }
    program::print_json(&json!({
        "state": "failed", "n": n, "error": program::message(e), "hint": e.hint(), "exit_code": e.exit_code(),
    }))
}
