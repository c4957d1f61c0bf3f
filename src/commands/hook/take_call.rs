//! Handles a call in a run of askbox that a person has to answer or to allow. Its question is posted, and the call is deferred: the turn
//! ends. When the call is made again in a later run, it gets its answer, or is allowed once.

use crate::commands::hook::event::{HookReply, PreToolUse};
use askbox_cli::ask_post::posting;
use askbox_cli::ask_user_call;
use askbox_mailbox::documents::fields::asked_in::AskedIn;
use askbox_mailbox::documents::fields::tool_call::ASK_USER;
use askbox_mailbox::{Error, Lock, Mailbox, Result, caller, check_draft};
use askbox_run::approval::call::{self, Call};
use askbox_run::approval::permit::Rules;
use askbox_run::approval::standing;
use askbox_run::asking::defer::{CallDecision, Deferred};
use askbox_run::asking::questions;
use askbox_run::prompt::unasked_servers;
use askbox_run::{Run, record};

/// The run that the call is made in. `None` if this is not a live run of askbox, or if another session of its agent makes the call.
pub(super) fn live_run(mailbox: &Mailbox, asked_in: &AskedIn, event: &PreToolUse) -> Result<Option<Run>> {
    let is_its_session = caller::session(mailbox, asked_in)?.is_some_and(|session| session.to_string() == event.session_id);
    if !is_its_session || !Lock::is_held(&record::lock_path(mailbox, &asked_in.run.round))? {
        return Ok(None);
    }
    record::read(mailbox, &asked_in.run.round, asked_in.run.attempt).map(Some)
}

fn deferred<'a>(mailbox: &'a Mailbox, rules: Rules<'a>, run: &'a Run, event: &'a PreToolUse) -> Deferred<'a> {
    Deferred {
        mailbox,
        rules,
        workflow: &run.workflow_id,
        call: Call { tool: &event.tool_name, input: &event.tool_input, cwd: &event.cwd },
        id: &event.tool_use_id,
        session: Some(run.session_id),
        run: Some(run),
        to_session: false,
        complete: &posting::complete,
    }
}

/// Decides about a call of AskUserQuestion, or of `ask_user` of `askbox mcp`.
pub(super) fn question(mailbox: &Mailbox, rules: Rules<'_>, run: &Run, event: &PreToolUse) -> Result<HookReply> {
    let workflow = &run.workflow_id;
    let is_ask_user = ASK_USER.contains(&event.tool_name.as_str());
    // A subagent whose call is deferred ends at once without saying anything (measured on Claude Code 2.1.330).
    if event.agent_id.is_some() {
        let how = match is_ask_user {
            true => format!(
                "a workflow_id of their own, such as {workflow}-sub: save your state with save_checkpoint, call ask_user with that \
                 workflow_id, and end your turn with the line QUESTION_POSTED:ID that it gives you."
            ),
            false => format!(
                "ask-post: save your state with `checkpoint save ID`, ask with `ask-post -w ID \"QUESTION\" -o KEY=DESCRIPTION`, and end \
                 your turn with its last line. Choose an ID of your own, such as {workflow}-sub."
            ),
        };
        return Ok(CallDecision::Refuse(format!("Subagents ask with {how}")).into());
    }
    let document = match is_ask_user {
        true => ask_user_call::question(&event.tool_input, workflow),
        false => questions::question(workflow, &event.tool_input),
    }?;
    // The agent wrote the input, which may have any field.
    check_draft::of_client(&document.typed)?;
    let mut decision = deferred(mailbox, rules, run, event).answers(document, |question| {
        let (Some(answer), Some(id)) = (&question.answer, question.question_id) else {
            return Err(Error::failed("the answered question has no id", "ask again"));
        };
        if is_ask_user {
            // The tool itself reports the answer, in the same words as always.
            let mut input = event.tool_input.clone();
            input.insert("workflow_id".into(), workflow.as_str().into());
            input.insert(ask_user_call::QUESTION_ID.into(), id.to_string().into());
            return Ok(CallDecision::allow(input));
        }
        Ok(CallDecision::answered(questions::answers(&event.tool_input, question, answer)))
    })?;
    if decision.is_own {
        match (&mut decision.decision, unasked_servers::in_words(mailbox, &run.round())) {
            (CallDecision::Allow(allow), words) => allow.tell = words,
            (CallDecision::Refuse(reason), Some(words)) => *reason += &format!("\n{words}"),
            _ => {}
        }
    }
    Ok(decision.decision.into())
}

/// Decides about any other call. If `None`, the agent program's own rules decide. `is_named` is true if a rule says that a person is asked.
pub(super) fn approval(mailbox: &Mailbox, rules: Rules<'_>, run: &Run, event: &PreToolUse, is_named: bool) -> Result<Option<HookReply>> {
    let deferred = deferred(mailbox, rules, run, event);
    let decision = match event.agent_id {
        // The supervisor of this live run holds a subagent's call, and asks a person.
        Some(_) if !is_named => return Ok(None),
        Some(_) => match standing::about(mailbox, &deferred.rules.policy, &run.workflow_id, &deferred.call)? {
            Some(standing) => CallDecision::standing(standing, &deferred.call),
            None => return Ok(Some(HookReply::AskHost)),
        },
        None => match deferred.permission(is_named)? {
            Some(decided) => decided.decision,
            None => return Ok(None),
        },
    };
    // The agent program asks its host about the input that it gets here, which a person may have changed.
    if let CallDecision::Allow(allow) = &decision {
        call::note_let_through(mailbox, run, &event.tool_use_id, &event.tool_name, &allow.input)?;
    }
    Ok(Some(decision.into()))
}
