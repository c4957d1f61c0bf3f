//! The way of a call of AskUserQuestion: it is posted as a question and deferred; made again in a later run, it gets the answer.

use crate::disk::Lock;
use crate::error::{Error, Result};
use crate::id::RoundId;
use crate::mailbox::documents::answer::Outcome;
use crate::mailbox::documents::asked_in::AskedIn;
use crate::mailbox::documents::tool_call::ToolCall;
use crate::mailbox::transitions::post::{self, IfPending};
use crate::mailbox::{Folder, Mailbox, Question, asked_within, list, read_question};
use crate::run::attempt::record::{self, Run};
use crate::run::attempt::suspended_call;
use crate::surface::ask_post::posting;
use crate::surface::askbox::hook::ask_user_question;
use crate::surface::askbox::hook::event::{Decision, PreToolUse};
use crate::text;

/// The run in which the call is made; `None` if it is no live run of askbox, or if another session of its agent calls.
pub(super) fn live_run(mailbox: &Mailbox, asked_in: &AskedIn, event: &PreToolUse) -> Result<Option<Run>> {
    let is_its_session = asked_within::session(mailbox, asked_in)?.is_some_and(|session| session.to_string() == event.session_id);
    if !is_its_session || !Lock::is_held(&record::lock_path(mailbox, &asked_in.run.round))? {
        return Ok(None);
    }
    record::read(mailbox, &asked_in.run.round, asked_in.run.attempt).map(Some)
}

/// What is to become of a call in this run.
pub(super) fn decide(mailbox: &Mailbox, run: &Run, event: &PreToolUse) -> Result<Decision> {
    // A subagent whose call is deferred ends at once, without a word (measured on Claude Code 2.1.330).
    if event.agent_id.is_some() {
        return Ok(Decision::Deny(format!(
            "Subagents ask with ask-post: save your state with `checkpoint save ID`, ask with `ask-post -w ID \"QUESTION\" -o KEY=DESCRIPTION`, \
             and end your turn with its last line. Choose an ID of your own, such as {}-sub.",
            run.workflow_id
        )));
    }
    if let Some(decision) = answer_of_this_run(mailbox, run, event)? {
        return Ok(decision);
    }
    if let Some(decision) = answer_of_earlier_round(mailbox, run, event)? {
        return Ok(decision);
    }
    post(mailbox, run, event)
}

/// The answer that this run brings, if it is one to this call.
fn answer_of_this_run(mailbox: &Mailbox, run: &Run, event: &PreToolUse) -> Result<Option<Decision>> {
    let question = read_question::of_round(&mailbox.round(Folder::Running, &run.round()), &run.round())?.typed;
    if question.tool_call.as_ref().is_none_or(|call| call.id != event.tool_use_id) {
        return Ok(None);
    }
    let decision = answered(&question, event);
    if decision.is_some() {
        suspended_call::note_handed_over(mailbox, run)?;
    }
    Ok(decision)
}

/// What became of the call, if it was asked in a round that is over: its question was withdrawn, or the answer came in a message.
fn answer_of_earlier_round(mailbox: &Mailbox, run: &Run, event: &PreToolUse) -> Result<Option<Decision>> {
    for round in list::rounds_of(mailbox, &run.workflow_id) {
        let Ok(document) = read_question::of_round(&mailbox.round(Folder::Closed, &round), &round) else { continue };
        let question = document.typed;
        if question.tool_call.as_ref().is_none_or(|call| call.id != event.tool_use_id) {
            continue;
        }
        return Ok(answered(&question, event).or_else(|| {
            let how = question.closed.as_ref().map_or("closed", |closed| closed.state.word());
            let why = question.closed.and_then(|closed| closed.why).map(|why| format!(": {}", text::one_line(&why))).unwrap_or_default();
            Some(Decision::Deny(format!(
                "Nobody answers this question: it was {how}{why}. Do not guess an answer; go on without it, or ask again."
            )))
        }));
    }
    Ok(None)
}

/// The decision that a question's answer means; `None` if it has none.
fn answered(question: &Question, event: &PreToolUse) -> Option<Decision> {
    let answer = question.answer.as_ref()?;
    if let Some(asked) = answer.counter_question() {
        return Some(Decision::Deny(format!(
            "The user asks back before they decide: {asked}\nThis is no answer: decide nothing. Find out what they ask, then ask your question again with the reply in it."
        )));
    }
    match (answer.outcome, &answer.value) {
        (Outcome::Answered, Some(value)) => {
            Some(Decision::Allow(ask_user_question::with_answers(&event.tool_input, question, answer, value)))
        }
        _ => {
            let note = answer.note.as_deref().map(|note| format!(" They say: {note}")).unwrap_or_default();
            Some(Decision::Deny(format!(
                "The user declined to answer.{note} Do not guess an answer: go on without it, or end your turn and say what is missing."
            )))
        }
    }
}

/// Posts the question.
fn post(mailbox: &Mailbox, run: &Run, event: &PreToolUse) -> Result<Decision> {
    let mut document = ask_user_question::question(&run.workflow_id, &event.tool_input)?;
    document.typed.tool_call = Some(ToolCall { name: event.tool_name.clone(), id: event.tool_use_id.clone() });
    document.typed.session_id = Some(run.session_id);
    document.typed.cwd = Some(event.cwd.clone()).filter(|cwd| cwd.is_absolute());
    posting::complete(mailbox, &mut document.typed)?;
    match post::post_document(mailbox, document, IfPending::Conflict) {
        Ok(receipt) => Ok(repeated(mailbox, &receipt.round, event)?.unwrap_or(Decision::Defer)),
        Err(Error::Conflict { .. }) => {
            let title = read_question::pending(mailbox, &run.workflow_id).map(|d| text::excerpt(&d.typed.title(), 80)).unwrap_or_default();
            Ok(Decision::Deny(format!(
                "Your user has not answered an earlier question yet: {title}. Ask this once that answer is there; up to four questions fit into one call."
            )))
        }
        Err(e) => Err(e),
    }
}

/// What to say if the same question is pending already, asked by another call.
fn repeated(mailbox: &Mailbox, round: &RoundId, event: &PreToolUse) -> Result<Option<Decision>> {
    let pending = read_question::pending(mailbox, &round.workflow);
    let is_other = |question: &Question| question.tool_call.as_ref().is_none_or(|call| call.id != event.tool_use_id);
    let is_asked = pending.is_ok_and(|document| document.typed.question_id == Some(round.question) && is_other(&document.typed));
    Ok(is_asked
        .then(|| Decision::Deny("Your user has this question already. End your turn: you will be started again with the answer.".into())))
}
