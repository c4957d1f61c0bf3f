//! One tool call, from its hooks and rules to its result.
//!
//! 1. The operator's hooks may refuse the call, change its input, let it through, or defer it.
//! 2. The rules and the permission mode may refuse it, or want a person's permission.
//! 3. A call that must not be repeated is noted. Then it is made.
//! 4. The hooks behind the call may add words to its result, or end the turn.
//!
//! A call that waits for a person has no result. It is made once more when the conversation goes on.

use serde_json::json;

use crate::conversation::Conversation;
use crate::history::Call;
use crate::host::Host;
use crate::model::UNPARSED;
use crate::outcome::{Outcome, Taken};
use crate::person::{self, Permit};
use crate::place::Place;
use crate::rules::hooks::{self, HookDecision, Verdict};
use crate::rules::permission::{self, Permission};
use crate::step::{End, Stop};
use crate::task;
use crate::tool_names::{ASK_USER, BASH, EDIT, TASK};
use crate::tools;
use askbox_mailbox::Result;

impl Conversation {
    /// Makes a call. Returns the end of the turn if the call has no result, or if a hook ends the turn behind it.
    pub fn make(&mut self, host: &mut Host, call: &Call) -> Result<Option<End>> {
        let outcome = match make(self, host, call)? {
            Ok(outcome) => outcome,
            Err(End::Stopped(stop)) => return self.stopped(host, stop).map(Some),
            Err(end) => return Ok(Some(end)),
        };
        if let Some(waited) = self.transcript.history.waiting.clone().filter(|waiting| *waiting != call.id) {
            self.transcript.wait_is_over(&waited)?;
        }
        self.answer(host, call, &outcome)?;
        outcome.taken.map_or(Ok(()), Taken::delivered)?;
        let is_batch_made = || self.transcript.history.open_calls().is_empty();
        let ends_turn = outcome.ends_turn || (is_batch_made() && hooks::run(host, "PostToolBatch", "", &json!({}))?.ends_turn);
        Ok(ends_turn.then_some(End::ByHook))
    }
}

/// Makes a call. `Err` is the end of the whole turn: the call has no result.
fn make(caller: &mut Conversation, host: &mut Host, call: &Call) -> Result<Result<Outcome, End>> {
    if !caller.tools().contains(&call.name.as_str()) {
        return Ok(Ok(Outcome::error(format!("No such tool available: {}", call.name))));
    }
    if call.input.contains_key(UNPARSED) {
        return Ok(Ok(Outcome::error("The call was not made: its input is not whole JSON. If it was cut, send less at once.")));
    }
    let agent = caller.subagent.as_ref().map(|subagent| subagent.kind.clone());
    let about = hooks::about(call, agent.as_deref());
    let Verdict { decision, reason, input, mut context, ends_turn } = hooks::run(host, "PreToolUse", &call.name, &about)?;
    let mut call = Call { input: input.unwrap_or_else(|| call.input.clone()), ..call.clone() };
    match decision {
        HookDecision::Deny => return Ok(Ok(Outcome { ends_turn, ..Outcome::error(reason) })),
        HookDecision::Defer => return Ok(Err(End::Waits(call))),
        HookDecision::None | HookDecision::Allow | HookDecision::Ask => {}
    }
    let mut place = match Place::of_call(&call, &host.cwd) {
        Ok(place) => place,
        Err(words) => return Ok(Ok(Outcome::error(words))),
    };
    let mut allowed = None;
    match permission::decide(host, &call, place.as_ref(), decision) {
        Permission::Allowed => {}
        Permission::Refused(words) => return Ok(Ok(Outcome::error(words))),
        Permission::Ask => {
            place.iter().for_each(|place| place.write_into(&mut call));
            let (input, remark, taken) = match ask_for(host, caller, &call)? {
                Permit::Yes { input, remark, taken } => (input, remark, taken),
                Permit::No(outcome) => return Ok(Ok(outcome)),
                Permit::Nothing(end) => return Ok(Err(end)),
            };
            if input != call.input {
                call.input = input;
                place = match Place::of_call(&call, &host.cwd) {
                    Ok(place) => place,
                    Err(words) => return Ok(Ok(Outcome { taken, ..Outcome::error(words) })),
                };
            }
            context.extend(remark);
            allowed = taken;
        }
    }
    // A second call would do something else than the first one.
    if [BASH, EDIT].contains(&call.name.as_str()) {
        caller.transcript.begin(&call)?;
    }
    // A person has allowed this call, and it is noted as begun: that answer is used up.
    allowed.map_or(Ok(()), Taken::delivered)?;
    let answer = match call.name.as_str() {
        ASK_USER if call.input.contains_key("answers") => Some(person::in_words(&call.input)),
        ASK_USER => match person::ask(host, &call)? {
            None => return Ok(Err(End::Waits(call))),
            answer => answer,
        },
        _ => None,
    };
    let made = match (answer, call.name.as_str()) {
        (Some(answer), _) => Ok(answer),
        (None, TASK) => task::run(host, caller, &call)?,
        (None, _) => Ok(tools::call(host, &call, place.as_ref())?),
    };
    let Ok(mut outcome) = made else { return Ok(made) };
    let mut about = hooks::about(&call, agent.as_deref());
    about["tool_response"] = json!({ "content": outcome.text, "is_error": outcome.is_error });
    let after = hooks::run(host, "PostToolUse", &call.name, &about)?;
    context.extend(after.context);
    context.into_iter().for_each(|words| outcome.text.push_str(&format!("\n\n{words}")));
    outcome.ends_turn = ends_turn || after.ends_turn;
    Ok(Ok(outcome))
}

/// Asks for a permission: the program at the other end of standard input, or a person through the mailbox.
fn ask_for(host: &mut Host, caller: &Conversation, call: &Call) -> Result<Permit> {
    if host.args.permission_prompt_tool.is_none() {
        return person::permission(host, call);
    }
    let mut request = json!({
        "subtype": "can_use_tool", "tool_name": call.name, "display_name": call.name, "input": call.input, "tool_use_id": call.id,
        "description": call.text("description").or(call.text("command")),
    });
    if call.name == ASK_USER {
        request["requires_user_interaction"] = true.into();
    }
    caller.subagent.iter().for_each(|subagent| request["agent_id"] = subagent.call.as_str().into());
    let no = |words: &str| Permit::No(Outcome::error(words));
    let Some(reply) = host.request(request) else {
        return Ok(host
            .stop
            .map_or_else(|| no("Tool permission stream closed before response received"), |stop| Permit::Nothing(End::Stopped(stop))));
    };
    let response = &reply["response"];
    Ok(match response["behavior"].as_str() {
        Some("allow") => {
            Permit::Yes { input: response["updatedInput"].as_object().unwrap_or(&call.input).clone(), remark: None, taken: None }
        }
        Some("deny") if response["interrupt"] == true => {
            host.stop_for(Stop::Interrupt);
            Permit::Nothing(End::Stopped(Stop::Interrupt))
        }
        Some("deny") => no(response["message"].as_str().unwrap_or("not permitted")),
        _ => no(&format!("Tool permission request failed: {}", reply["error"].as_str().unwrap_or("no decision came"))),
    })
}
