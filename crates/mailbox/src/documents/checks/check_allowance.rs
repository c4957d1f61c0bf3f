//! Checks an answer that allows a tool call: the text that the person puts in place of the editable one, and the words beside it. Also
//! checks a refusal that ends the turn of a live session, and an answer to the form of a server there.

use crate::documents::answer::{Answer, Outcome};
use crate::documents::fields::approval::LONGEST_EDITED;
use crate::documents::programs::Facts;
use crate::documents::question::Question;
use crate::error::{Error, Hint, Result};
use crate::text;

/// Checks the text that a person puts in place of the call's editable one.
pub(super) fn edited(question: &Question, edited: Option<&str>) -> Result<()> {
    let wrong = |problem: &str, fix: Hint| Err(Error::invalid("answer.edited", problem, fix));
    let editable = question.approval.as_ref().and_then(|approval| approval.editable.as_ref());
    let Some(editable) = editable else {
        return wrong(
            "is given, but the call has no text that a person may change",
            "allow the call, or decline and say what to change".into(),
        );
    };
    match edited {
        None => wrong(
            "is missing",
            (format!("change the call's {}", editable.field), format!("ask-answer edit {}", question.workflow_id)).into(),
        ),
        Some(text) if text::is_blank(text) => wrong("is empty", "to refuse the call, decline it".into()),
        Some(text) if text.len() > LONGEST_EDITED => wrong(
            &format!("is {} bytes long, the limit is {LONGEST_EDITED}", text.len()),
            "shorten it, or decline and say what to change".into(),
        ),
        Some(text) if text == editable.text => {
            wrong("is the text of the call itself", "nothing is changed: allow the call with `once`".into())
        }
        Some(_) => Ok(()),
    }
}

/// Refuses words beside a decision in a live session whose program has no place for them.
pub(super) fn words(question: &Question, reply: &Answer) -> Result<()> {
    let Some(live) = question.live.as_ref().filter(|_| reply.note.is_some()) else { return Ok(()) };
    if question.elicited_by.is_some() {
        let fix = "fill in the form or decline it without words, or go to the session's terminal";
        return Err(Error::invalid("answer.note", "would not reach the server, which takes no words beside its form", fix));
    }
    if question.approval.is_none() {
        return Ok(());
    }
    let facts = Facts::of(question);
    if !facts.takes_a_reason() {
        let fix = "decide without words, and say them at its terminal";
        let field = if reply.asks_back { "question back" } else { "answer.note" };
        return Err(Error::invalid(field, format!("would not reach the session, because {} takes no words", live.program), fix));
    }
    // The remark is told behind the call, which is known by its id.
    let call = question.tool_call.as_ref().filter(|call| call.told_id().is_some());
    if reply.outcome != Outcome::Answered || call.is_some_and(|call| facts.takes_a_remark(&call.name)) {
        return Ok(());
    }
    let fix = ("allow it without words, or refuse it with them", format!("ask-answer decline {} --note WORDS", question.workflow_id));
    Err(Error::invalid("answer.note", "would not reach the session, which takes no words beside an allowance", fix))
}

/// Checks a refusal that ends the session's turn. Its model is not told then, so it takes no words.
pub(super) fn stop(question: &Question, reply: &Answer) -> Result<()> {
    if question.live.is_none() {
        return Err(Error::invalid("answer.stops", "ends the turn of a live session, and none asks here", "decline without it"));
    }
    if question.elicited_by.is_some() {
        return Err(Error::invalid("answer.stops", "would not end the turn of a session whose server asks", "decline without it"));
    }
    if reply.note.is_some() {
        let fix = ("stop it without words, or refuse it with them", format!("ask-answer decline {} --note WORDS", question.workflow_id));
        return Err(Error::invalid("answer.note", "would not reach the session, which only ends its turn", fix));
    }
    Ok(())
}
