//! `Task`: starts a subagent and returns its conclusion.
//!
//! The subagent has a conversation of its own: fresh messages, the system prompt and the tools of its definition, a transcript of its own.
//! The transcript has the name of the call that started it. So the call can be made twice: the second time, the subagent goes on where
//! it was. That is how a question of a subagent suspends the subagent and all above it, and how an answer wakes them.

use serde_json::json;

use crate::conversation::{Conversation, Subagent};
use crate::history::Call;
use crate::host::Host;
use crate::model::{MODEL, Request};
use crate::outcome::Outcome;
use crate::step::End;
use crate::tool_names::{GENERAL, TASK};
use crate::tools;
use crate::transcript::{self, Transcript, new_id};
use askbox_definitions::agent_file::Agent;
use askbox_mailbox::Result;

/// How often the model of a subagent is asked.
const ROUNDS: usize = 30;
/// How deep subagents may start subagents, if their definitions allow it.
const DEPTH: usize = 3;
/// The system prompts without a definition: of the session, and of a subagent.
const PROMPTS: [&str; 2] = [include_str!("prompts/agent.txt"), include_str!("prompts/subagent.txt")];

/// Makes a call of `Task`: the subagent begins, or goes on. `Err` is the end of the caller's turn too.
pub(crate) fn run(host: &mut Host, caller: &Conversation, call: &Call) -> Result<Result<Outcome, End>> {
    let text = |key: &str| call.text(key).filter(|text| !text.is_empty());
    let kind = text("subagent_type").unwrap_or(GENERAL);
    let definition = host.agents.iter().find(|agent| agent.name == kind);
    if definition.is_none() && kind != GENERAL {
        let known: Vec<&str> = host.agents.iter().map(|agent| agent.name.as_str()).chain([GENERAL]).collect();
        return Ok(Ok(Outcome::error(format!("Agent type '{kind}' not found. Available agents: {}", known.join(", ")))));
    }
    let description = text("description");
    let Some(prompt) = text("prompt").or(description) else { return Ok(Ok(Outcome::error("`prompt` is missing"))) };
    let path = transcript::of_subagent(&host.transcript, call)?;
    let mut transcript = Transcript::open(&path, &host.session, &host.cwd)?;
    transcript::note_subagent(&path, kind, description.unwrap_or_default())?;
    if transcript.history.messages.is_empty() {
        transcript.prompt(&new_id(), &json!(prompt))?;
    }
    let depth = caller.subagent.as_ref().map_or(0, |subagent| subagent.depth) + 1;
    let request = request(host, definition, Some(&caller.request.model), depth);
    let subagent = Subagent { call: call.id.clone(), kind: kind.to_owned(), depth };
    let mut child = Conversation::new(transcript, request, Some(subagent), ROUNDS);
    Ok(match child.go_on(host)? {
        End::Finished(words) if words.trim().is_empty() => Ok(Outcome::ok("(The agent ended without a conclusion.)")),
        End::Finished(words) => Ok(Outcome::ok(words)),
        End::Short(_, _, _, why) => {
            let words = child.transcript.history.last_words();
            Ok(Outcome::error(format!("The agent was stopped, without a conclusion. {why}. Its last words:\n{words}")))
        }
        End::ByHook => Ok(Outcome::error("A hook ended the agent's work.")),
        end @ (End::Waits(_) | End::Stopped(_) | End::Failed(_)) => Err(end),
    })
}

/// What stays the same in each request of an agent: the model, the system prompt, the tools. `inherited` is the caller's model.
pub(crate) fn request(host: &Host, definition: Option<&Agent>, inherited: Option<&str>, depth: usize) -> Request {
    let named = |list: &[String], tool: &str| {
        let name = |rule: &String| rule.split('(').next().unwrap_or_default().to_owned();
        list.iter().map(name).any(|name| name == tool || tool == TASK && name == "Agent")
    };
    let listed = definition.and_then(|agent| agent.tools.as_ref());
    let has = |tool: &str| {
        let is_listed = listed.is_none_or(|tools| named(tools, tool));
        // A subagent starts subagents only if its definition says so.
        let may_start = tool != TASK || depth == 0 || (depth < DEPTH && listed.is_some() && is_listed);
        let is_taken = definition.is_some_and(|agent| named(&agent.disallowed_tools, tool)) || host.settings.takes_away(tool);
        is_listed && may_start && !is_taken
    };
    let own = definition.and_then(|agent| agent.model.clone()).filter(|model| model != "inherit");
    let plain = || PROMPTS[depth.min(1)].trim_end().replace("{folder}", &host.cwd.display().to_string());
    let system = definition.map_or_else(plain, |agent| agent.prompt.clone()) + &host.settings.memory;
    Request {
        model: own.or_else(|| inherited.map(str::to_owned)).unwrap_or_else(|| MODEL.into()),
        system,
        tools: tools::definitions(has, &host.agents),
    }
}
