//! Handles a call of AskUserQuestion, or of `ask_user` of `askbox mcp`. It is posted as a question and deferred. When the call is made
//! again in a later run, it gets the answer if that question still asks the same as the call.

use crate::commands::hook::event::{Allow, Decision, PreToolUse};
use crate::commands::hook::post_call;
use askbox_cli::ask_user_call;
use askbox_mailbox::disk::Lock;
use askbox_mailbox::documents::checks::check_draft;
use askbox_mailbox::documents::fields::asked_in::AskedIn;
use askbox_mailbox::documents::fields::tool_call::ASK_USER;
use askbox_mailbox::documents::shown::asks_the_same;
use askbox_mailbox::error::Result;
use askbox_mailbox::trust::Policy;
use askbox_mailbox::who::asked_within;
use askbox_mailbox::{Folder, Mailbox, Question, QuestionDocument, read_question};
use askbox_run::asking::questions;
use askbox_run::attempt::record::{self, Run};
use askbox_run::attempt::suspended_call;
use askbox_run::prompt::unasked_servers;
use askbox_run::words;

/// The run that the call is made in. `None` if this is not a live run of askbox, or if another session of its agent makes the call.
pub(super) fn live_run(mailbox: &Mailbox, asked_in: &AskedIn, event: &PreToolUse) -> Result<Option<Run>> {
    let is_its_session = asked_within::session(mailbox, asked_in)?.is_some_and(|session| session.to_string() == event.session_id);
    if !is_its_session || !Lock::is_held(&record::lock_path(mailbox, &asked_in.run.round))? {
        return Ok(None);
    }
    record::read(mailbox, &asked_in.run.round, asked_in.run.attempt).map(Some)
}

/// Decides about a call in this run.
pub(super) fn decide(mailbox: &Mailbox, policy: &Policy, run: &Run, event: &PreToolUse) -> Result<Decision> {
    // A subagent whose call is deferred ends at once without saying anything (measured on Claude Code 2.1.330).
    if event.agent_id.is_some() && is_ask_user(event) {
        return Ok(Decision::Deny(format!(
            "Subagents ask with a workflow_id of their own, such as {}-sub: save your state with save_checkpoint, call ask_user with that workflow_id, and end your \
             turn with the line QUESTION_POSTED:ID that it gives you.",
            run.workflow_id
        )));
    }
    if event.agent_id.is_some() {
        return Ok(Decision::Deny(format!(
            "Subagents ask with ask-post: save your state with `checkpoint save ID`, ask with `ask-post -w ID \"QUESTION\" -o KEY=DESCRIPTION`, \
             and end your turn with its last line. Choose an ID of your own, such as {}-sub.",
            run.workflow_id
        )));
    }
    if let Some(decision) = answer_of_this_run(mailbox, policy, run, event)? {
        return Ok(decision);
    }
    if let Some(decision) = answer_of_earlier_round(mailbox, policy, run, event) {
        return Ok(decision);
    }
    post(mailbox, run, event)
}

fn is_ask_user(event: &PreToolUse) -> bool {
    ASK_USER.contains(&event.tool_name.as_str())
}

/// The answer that this run brings, if it answers this call.
fn answer_of_this_run(mailbox: &Mailbox, policy: &Policy, run: &Run, event: &PreToolUse) -> Result<Option<Decision>> {
    let question = read_question::of_round(&mailbox.round(Folder::Running, &run.round()), &run.round())?.typed;
    if !post_call::is_of(&question, event) || !asks_the_same(&question, &document(run, event)?.typed) {
        return Ok(None);
    }
    let decision = answered(policy, &question, event);
    if decision.is_some() {
        suspended_call::note_handed_over(mailbox, run)?;
    }
    Ok(match (decision, unasked_servers::in_words(mailbox, &run.round())) {
        (Some(Decision::Allow(allow)), words) => Some(Decision::Allow(Box::new(Allow { tell: words, ..*allow }))),
        (Some(Decision::Deny(reason)), Some(words)) => Some(Decision::Deny(format!("{reason}\n{words}"))),
        (decision, _) => decision,
    })
}

/// The result of a call whose question was asked in a round that is closed: its question was withdrawn, or the answer came in a message.
fn answer_of_earlier_round(mailbox: &Mailbox, policy: &Policy, run: &Run, event: &PreToolUse) -> Option<Decision> {
    let (_, question) = post_call::over(mailbox, run, event)?;
    let is_it = document(run, event).is_ok_and(|document| asks_the_same(&question, &document.typed));
    if question.answer.is_some() && !is_it {
        return None;
    }
    answered(policy, &question, event).or_else(|| Some(Decision::Deny(words::nobody_answers(&question))))
}

/// The decision that follows from a question's answer. `None` without an answer.
fn answered(policy: &Policy, question: &Question, event: &PreToolUse) -> Option<Decision> {
    let answer = question.answer.as_ref()?;
    if let Err(why) = policy.judge(question) {
        return Some(Decision::Deny(words::does_not_count(&why.0)));
    }
    if is_ask_user(event) {
        // The tool itself reports the answer, in the same words as always.
        let mut input = event.tool_input.clone();
        input.insert("workflow_id".into(), question.workflow_id.as_str().into());
        input.insert(ask_user_call::QUESTION_ID.into(), question.question_id?.to_string().into());
        return Some(Decision::allow(input));
    }
    let answers = questions::answers(&event.tool_input, question, answer);
    Some(answers.map_or_else(Decision::Deny, |answers| Decision::allow(answers.filled)))
}

/// The question that the call asks.
fn document(run: &Run, event: &PreToolUse) -> Result<QuestionDocument> {
    let document = if is_ask_user(event) {
        ask_user_call::question(&event.tool_input, &run.workflow_id)
    } else {
        questions::question(&run.workflow_id, &event.tool_input)
    }?;
    // The agent wrote the input, which may have any field.
    check_draft::of_client(&document.typed)?;
    Ok(document)
}

/// Posts the question.
fn post(mailbox: &Mailbox, run: &Run, event: &PreToolUse) -> Result<Decision> {
    post_call::post(
        mailbox,
        run,
        event,
        document(run, event)?,
        "Ask this once that answer is there; up to four questions fit into one call.",
    )
}
