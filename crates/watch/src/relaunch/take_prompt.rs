//! `relaunch prompt ID`: claims the answer and prints the resume prompt, for a main agent that starts its own subagent. `relaunch done ID`:
//! for a main agent that has already given the answer to a process of its own.

use serde_json::json;

use crate::relaunch::refusals;
use askbox_cli::{Context, program};
use askbox_mailbox::{Mailbox, Policy, Result, WorkflowId};
use askbox_run::asking::orphans;
use askbox_run::claim::{self, Claim, ClaimAttempt, OnRecord};
use askbox_run::prompt::message;

/// `relaunch done ID`: the caller has passed the answer to a process of its own. Closes the round as delivered, and launches nothing.
pub fn done(mailbox: &Mailbox, context: &Context, workflow: &WorkflowId, json: bool) -> Result<u8> {
    let policy = context.loaded()?.config.answers.policy();
    let claim = match orphans::sent(mailbox, workflow)? {
        // The person knows that the session took it.
        Some(sent) => sent,
        None => claimed(mailbox, context, workflow, &policy)?,
    };
    let question_id = claim.run.question_id;
    claim.delivered(mailbox, "relaunch done")?;
    let value = json!({"state": "delivered", "workflow_id": workflow, "question_id": question_id});
    program::print_result(json, &value, &format!("{workflow}: its answer counts as delivered; no agent is started\n")).map(|()| 0)
}

/// The round, claimed.
fn claimed(mailbox: &Mailbox, context: &Context, workflow: &WorkflowId, policy: &Policy) -> Result<Claim<OnRecord>> {
    match claim::for_main_agent(mailbox, workflow, policy)? {
        ClaimAttempt::Claimed(claim) => Ok(*claim),
        ClaimAttempt::Refused(refused) => Err(refusals::error_of(mailbox, context, workflow, refused)),
    }
}

/// Prints the prompt. The round is delivered once it is printed.
pub fn print_prompt(mailbox: &Mailbox, context: &Context, workflow: &WorkflowId, json: bool) -> Result<u8> {
    let config = context.config()?;
    let claim = claimed(mailbox, context, workflow, &config.answers.policy())?;
    let text = message::first_message(mailbox, &config, &claim.document.typed, &claim.run)?;
    if json {
        program::print_json(&json!({"workflow_id": workflow, "question_id": claim.run.question_id, "prompt": text}))?;
    } else {
        program::print_value(text.trim_end())?;
    }
    claim.delivered(mailbox, "relaunch prompt")?;
    Ok(0)
}
