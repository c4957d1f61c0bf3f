//! A call becomes a question of the mailbox, and waits in its session.

use crate::commands::hook::event::{Decision, PreToolUse};
use askbox_cli::ask_post::posting;
use askbox_mailbox::documents::fields::tool_call::ToolCall;
use askbox_mailbox::error::{Error, Result};
use askbox_mailbox::id::RoundId;
use askbox_mailbox::listing::list;
use askbox_mailbox::transitions::post::{self, IfPending};
use askbox_mailbox::{Folder, Mailbox, Question, QuestionDocument, read_question};
use askbox_run::attempt::record::Run;
use askbox_run::words;

/// Posts the question of a call and defers the call. `later` tells the agent what to do if another question is still waiting.
pub(super) fn post(mailbox: &Mailbox, run: &Run, event: &PreToolUse, mut document: QuestionDocument, later: &str) -> Result<Decision> {
    document.typed.asked.tool_call = Some(ToolCall { name: event.tool_name.clone(), id: event.tool_use_id.clone(), subagent: None });
    document.typed.session_id = Some(run.plan.session_id);
    document.typed.cwd = Some(event.cwd.clone()).filter(|cwd| cwd.is_absolute());
    posting::complete(mailbox, &mut document.typed)?;
    if document.typed.asked.approval.is_some() {
        // The agent chooses this name, and beside a call only askbox speaks.
        document.typed.asked.asked_by = None;
    }
    match post::post_document(mailbox, document, IfPending::Conflict) {
        Ok(receipt) => Ok(repeated(mailbox, &receipt.round, event)?.unwrap_or(Decision::Defer)),
        Err(Error::Conflict { .. }) => {
            let pending = read_question::pending(mailbox, &run.workflow_id).ok();
            Ok(Decision::Deny(words::waits_behind(pending.as_ref().map(|document| &document.typed), later)))
        }
        Err(e) => Err(e),
    }
}

/// The decision if another call has already asked the same question and it is pending.
fn repeated(mailbox: &Mailbox, round: &RoundId, event: &PreToolUse) -> Result<Option<Decision>> {
    let pending = read_question::pending(mailbox, &round.workflow);
    let is_other = |question: &Question| !is_of(question, event);
    let is_asked = pending.is_ok_and(|document| document.typed.question_id == Some(round.question) && is_other(&document.typed));
    Ok(is_asked
        .then(|| Decision::Deny("Your user has this question already. End your turn: you will be started again with the answer.".into())))
}

/// True if this call asked the question.
pub(super) fn is_of(question: &Question, event: &PreToolUse) -> bool {
    question.asked.tool_call.as_ref().is_some_and(|call| call.id == event.tool_use_id)
}

/// The newest closed round of the workflow whose question this call asked.
pub(super) fn over(mailbox: &Mailbox, run: &Run, event: &PreToolUse) -> Option<(RoundId, Question)> {
    let rounds = list::newest_rounds_of(mailbox, &run.workflow_id);
    rounds.into_iter().take(list::SEARCHED).find_map(|round| {
        let question = read_question::of_round(&mailbox.round(Folder::Closed, &round), &round).ok()?.typed;
        is_of(&question, event).then_some((round, question))
    })
}
