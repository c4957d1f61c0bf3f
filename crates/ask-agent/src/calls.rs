//! One tool call, from its hooks and rules to its result.
//!
//! 1. The operator's hooks may refuse the call, change its input, let it through, or defer it.
//! 2. The rules and the permission mode may refuse it, or want a person's permission.
//! 3. A call that must not be repeated is noted. Then it is made.
//! 4. The hooks behind the call may add words to its result, or end the turn.
//!
//! A call that waits for a person, in any of these steps, has no result. It is made once more when the conversation goes on.

use serde_json::json;

use crate::end::End;
use crate::history::Call;
use crate::host::{Host, Stop};
use crate::outcome::Outcome;
use crate::person::{self, Taken};
use crate::rules::hooks::{self, Decision, Verdict};
use crate::rules::permission::{self, Permission};
use crate::task::Subagent;
use crate::tool_names::{ASK_USER, TASK, must_not_be_repeated};
use crate::tools;
use askbox_mailbox::error::Result;

/// The conversation that makes a call.
pub(crate) trait Caller {
    /// True if the model was offered this tool.
    fn has(&self, tool: &str) -> bool;
    /// The subagent that this is; `None` for the session itself.
    fn subagent(&self) -> Option<&Subagent>;
    /// Notes, durably, that the call is about to be made.
    fn begin(&mut self, call: &Call) -> Result<()>;
    /// Lets a subagent work on a call of `Task`. `Err` is the end of the whole turn.
    fn work_on(&mut self, host: &mut Host, call: &Call) -> Result<Result<Outcome, End>>;
}

/// What became of a call.
pub(crate) enum Made {
    /// It has a result. An answer that was taken from the mailbox counts as delivered once the result is durable.
    Result { outcome: Outcome, taken: Option<Taken>, ends_turn: bool },
    /// It has none, and the turn is over.
    Ended(End),
}

impl Made {
    fn refused(words: impl Into<String>, ends_turn: bool) -> Self {
        Self::Result { outcome: Outcome::error(words), taken: None, ends_turn }
    }
}

/// What a person says about a call.
enum Said {
    /// It may be made, with this input and these words beside its result.
    Yes(Call, Option<Taken>),
    No(String, Option<Taken>),
    Nothing(End),
}

/// Makes a call.
pub(crate) fn make(caller: &mut impl Caller, host: &mut Host, call: &Call) -> Result<Made> {
    if !caller.has(&call.name) {
        return Ok(Made::refused(format!("No such tool available: {}", call.name), false));
    }
    let agent = caller.subagent().map(|subagent| subagent.kind.clone());
    let about = hooks::about(call, agent.as_deref());
    let Verdict { decision, reason, input, mut context, ends_turn } = hooks::run(host, "PreToolUse", &call.name, &about)?;
    let mut call = Call { input: input.unwrap_or_else(|| call.input.clone()), ..call.clone() };
    match decision {
        Decision::Deny => return Ok(Made::refused(reason, ends_turn)),
        Decision::Defer => return Ok(Made::Ended(End::Waits(call))),
        Decision::None | Decision::Allow | Decision::Ask => {}
    }
    let permission = match permission::decide(host, &call, decision == Decision::Allow) {
        Permission::Allowed if decision == Decision::Ask => Permission::Ask,
        permission => permission,
    };
    let mut allowed = None;
    match permission {
        Permission::Allowed => {}
        Permission::Refused(words) => return Ok(Made::refused(words, false)),
        Permission::Ask => match ask_for(host, caller.subagent(), &call)? {
            Said::Yes(changed, taken) => (call, allowed) = (changed, taken),
            Said::No(words, taken) => return Ok(Made::Result { outcome: Outcome::error(words), taken, ends_turn: false }),
            Said::Nothing(end) => return Ok(Made::Ended(end)),
        },
    }
    if must_not_be_repeated(&call.name) {
        caller.begin(&call)?;
    }
    // A person has allowed this call, and it is noted as begun: that answer is used up.
    allowed.map_or(Ok(()), Taken::delivered)?;
    let (mut outcome, taken) = match call.name.as_str() {
        ASK_USER if call.input.contains_key("answers") => (person::in_words(&call.input), None),
        ASK_USER => match person::ask(host, &call)? {
            Some((outcome, taken)) => (outcome, taken),
            None => return Ok(Made::Ended(End::Waits(call))),
        },
        TASK => match caller.work_on(host, &call)? {
            Ok(outcome) => (outcome, None),
            Err(end) => return Ok(Made::Ended(end)),
        },
        _ => (tools::call(host, &call)?, None),
    };
    let mut about = hooks::about(&call, agent.as_deref());
    about["tool_response"] = json!({ "content": outcome.text, "is_error": outcome.is_error });
    let after = hooks::run(host, "PostToolUse", &call.name, &about)?;
    context.extend(after.context);
    context.into_iter().for_each(|words| outcome.text.push_str(&format!("\n\n{words}")));
    Ok(Made::Result { outcome, taken, ends_turn: ends_turn || after.ends_turn })
}

/// Asks for a permission: the program at the other end of standard input, or a person through the mailbox.
fn ask_for(host: &mut Host, subagent: Option<&Subagent>, call: &Call) -> Result<Said> {
    if host.args.permission_prompt_tool.is_none() {
        return Ok(match person::permission(host, call)? {
            person::Permit::Waits => Said::Nothing(End::Waits(call.clone())),
            person::Permit::Yes(input, taken) => Said::Yes(Call { input, ..call.clone() }, taken),
            person::Permit::No(words, taken) => Said::No(words, taken),
        });
    }
    let mut request = json!({
        "subtype": "can_use_tool", "tool_name": call.name, "display_name": call.name, "input": call.input, "tool_use_id": call.id,
        "description": call.input.get("description").or(call.input.get("command")).cloned().unwrap_or_default(),
    });
    if call.name == ASK_USER {
        request["requires_user_interaction"] = true.into();
    }
    subagent.into_iter().for_each(|subagent| request["agent_id"] = subagent.call.as_str().into());
    let Some(reply) = host.request(request) else {
        return Ok(match host.stop() {
            Some(stop) => Said::Nothing(End::Stopped(stop)),
            None => Said::No("Tool permission stream closed before response received".into(), None),
        });
    };
    let response = &reply["response"];
    Ok(match response["behavior"].as_str() {
        Some("allow") => {
            let input = response["updatedInput"].as_object().cloned().unwrap_or_else(|| call.input.clone());
            Said::Yes(Call { input, ..call.clone() }, None)
        }
        Some("deny") if response["interrupt"] == true => {
            host.interrupt();
            Said::Nothing(End::Stopped(Stop::Interrupt))
        }
        Some("deny") => Said::No(response["message"].as_str().unwrap_or("not permitted").to_owned(), None),
        _ => Said::No(format!("Tool permission request failed: {}", reply["error"].as_str().unwrap_or("no decision came")), None),
    })
}
