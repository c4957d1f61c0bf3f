//! Handles a call that a person has to allow. It is posted as an approval question and deferred. When the call is made again in a later
//! run, it is allowed once if a person has allowed exactly this call.

use crate::commands::hook::event::{Allow, Decision, PreToolUse};
use crate::commands::hook::post_call;
use askbox_mailbox::document::Document;
use askbox_mailbox::error::Result;
use askbox_mailbox::trust::Policy;
use askbox_mailbox::{Folder, Mailbox, read_question};
use askbox_run::approval::ask::{self, Shown};
use askbox_run::approval::call::{self, Call};
use askbox_run::approval::permit::{self, Permit, Rules};
use askbox_run::approval::standing::{self, Standing};
use askbox_run::attempt::record::Run;
use askbox_run::attempt::suspended_call;
use askbox_run::words;

/// Decides about a call in this run. If `None`, the agent program's own rules decide. `is_named` is true if a rule says that a person is
/// asked.
pub(super) fn decide(mailbox: &Mailbox, rules: &Rules<'_>, run: &Run, event: &PreToolUse, is_named: bool) -> Result<Option<Decision>> {
    let decision = decided(mailbox, rules, run, event, is_named)?;
    // The agent program asks its host about the input that it gets here, which a person may have changed.
    if let Some(Decision::Allow(allow)) = &decision {
        call::note_let_through(mailbox, run, &event.tool_use_id, &event.tool_name, &allow.input)?;
    }
    Ok(decision)
}

fn decided(mailbox: &Mailbox, rules: &Rules<'_>, run: &Run, event: &PreToolUse, is_named: bool) -> Result<Option<Decision>> {
    let policy = &rules.policy;
    let call = Call { tool: &event.tool_name, input: &event.tool_input, cwd: &event.cwd };
    // A subagent whose call is deferred ends at once without saying anything (measured on Claude Code 2.1.330).
    if event.agent_id.is_some() {
        return in_subagent(mailbox, policy, run, &call, is_named);
    }
    let round = run.round();
    let question = read_question::of_round(&mailbox.round(Folder::Running, &round), &round)?.typed;
    // A subagent that was cut off cannot make its call again, so the session makes it.
    let is_of_subagent =
        || question.asked.tool_call.as_ref().is_some_and(|call| call.subagent.is_some()) && ask::is_about(&question, &call);
    if question.asked.approval.is_some() && (post_call::is_of(&question, event) || is_of_subagent()) {
        let decision = match permit::permit(mailbox, rules, &round, &question, &call)? {
            Permit::Allowed(allowed) => Decision::Allow(Box::new(Allow {
                input: allowed.input.clone(),
                tell: allowed.remark(false),
                by_answer: Some((mailbox.clone(), *allowed)),
            })),
            Permit::Refused(words) => Decision::Deny(words),
            Permit::Ask(shown) => return ask(mailbox, run, event, shown).map(Some),
        };
        suspended_call::note_handed_over(mailbox, run)?;
        return Ok(Some(decision));
    }
    if !is_named {
        return Ok(None);
    }
    if let Some((round, question)) = post_call::over(mailbox, run, event).filter(|(_, question)| ask::is_about(question, &call)) {
        if question.answer.is_none() {
            return Ok(Some(Decision::Deny(words::nobody_allows(&words::end_of(&question)))));
        }
        if let Some(words) = permit::refusal(&question) {
            return Ok(Some(Decision::Deny(words)));
        }
        // The permission of a closed round counted for its own run only.
        let shown = if permit::is_used(mailbox, &round) { Shown::perhaps_made(&question) } else { Shown::First };
        return ask(mailbox, run, event, shown).map(Some);
    }
    match standing::about(mailbox, policy, &run.workflow_id, &call)? {
        Some(standing) => Ok(Some(decision(standing, &call))),
        None => ask(mailbox, run, event, Shown::First).map(Some),
    }
}

/// Decides about a subagent's call. The supervisor of this live run holds the call, and asks a person.
fn in_subagent(mailbox: &Mailbox, policy: &Policy, run: &Run, call: &Call<'_>, is_named: bool) -> Result<Option<Decision>> {
    if !is_named {
        return Ok(None);
    }
    let standing = standing::about(mailbox, policy, &run.workflow_id, call)?;
    Ok(Some(standing.map_or(Decision::AskHost, |standing| decision(standing, call))))
}

fn decision(standing: Standing, call: &Call<'_>) -> Decision {
    match standing {
        Standing::Allowed => Decision::allow(call.input.clone()),
        Standing::Refused(words) => Decision::Deny(words),
    }
}

fn ask(mailbox: &Mailbox, run: &Run, event: &PreToolUse, shown: Shown) -> Result<Decision> {
    let call = Call { tool: &event.tool_name, input: &event.tool_input, cwd: &event.cwd };
    let document = Document::draft(ask::question(&run.workflow_id, &call, shown)?);
    post_call::post(mailbox, run, event, document, words::CALL_LATER)
}
