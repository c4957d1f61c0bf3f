//! `Task`: starts a subagent and returns its conclusion.
//!
//! The subagent has a conversation of its own: fresh messages, the system prompt and the tools of its definition, a transcript of its own.
//! The transcript has the name of the call that started it. So the call can be made twice: the second time, the subagent goes on where
//! it was. That is how a question of a subagent suspends the subagent and all above it, and how an answer wakes them.

use serde_json::json;

use crate::end::End;
use crate::history::{Call, History};
use crate::host::Host;
use crate::model::{MODEL, Request};
use crate::outcome::Outcome;
use crate::tool_names::{GENERAL, TASK};
use crate::tools;
use crate::transcript::{self, Transcript, new_id};
use askbox_agent::definitions::agent_file::Agent;
use askbox_mailbox::error::Result;

/// How often the model of a subagent is asked.
pub(crate) const ROUNDS: usize = 30;
/// How deep subagents may start subagents, if their definitions allow it.
const DEPTH: usize = 3;
/// The model that means: the caller's.
const INHERIT: &str = "inherit";

/// The subagent that a conversation belongs to.
#[derive(Debug, Clone)]
pub(crate) struct Subagent {
    /// The id of the call that started it.
    pub call: String,
    /// The name of its definition.
    pub kind: String,
}

/// A subagent that is about to begin, or to go on.
pub(crate) struct Prepared {
    pub transcript: Transcript,
    pub request: Request,
    pub subagent: Subagent,
}

/// Opens the transcript of the subagent that a call starts, and finds its definition. `model` is the caller's. `Err` is the result of a
/// call that cannot be made.
pub(crate) fn prepare(host: &Host, call: &Call, model: &str, depth: usize) -> Result<Result<Prepared, Outcome>> {
    let text = |key: &str| call.input.get(key).and_then(|value| value.as_str()).unwrap_or_default();
    let kind = match text("subagent_type") {
        "" => GENERAL,
        named => named,
    };
    let definition = host.agents.iter().find(|agent| agent.name == kind);
    if definition.is_none() && kind != GENERAL {
        let known: Vec<&str> = host.agents.iter().map(|agent| agent.name.as_str()).chain([GENERAL]).collect();
        return Ok(Err(Outcome::error(format!("Agent type '{kind}' not found. Available agents: {}", known.join(", ")))));
    }
    let prompt = match (text("prompt"), text("description")) {
        ("", "") => return Ok(Err(Outcome::error("`prompt` is missing"))),
        ("", description) => description,
        (prompt, _) => prompt,
    };
    let path = transcript::of_subagent(&host.transcript, call)?;
    let mut transcript = Transcript::open(&path, &host.session, &host.cwd)?;
    transcript::note_subagent(&path, kind, text("description"))?;
    if transcript.history.messages.is_empty() {
        transcript.prompt(&new_id(), &json!(prompt))?;
    }
    let request = request(host, definition, Some(model), depth);
    Ok(Ok(Prepared { transcript, request, subagent: Subagent { call: call.id.clone(), kind: kind.to_owned() } }))
}

/// What the caller reads of a subagent whose turn is over. `Err` is the end of the caller's turn too.
pub(crate) fn conclusion(end: End, history: &History) -> Result<Outcome, End> {
    match end {
        End::Finished(words) if words.trim().is_empty() => Ok(Outcome::ok("(The agent ended without a conclusion.)")),
        End::Finished(words) => Ok(Outcome::ok(words)),
        End::MaxRounds(most) => {
            let words = history.last_words();
            Ok(Outcome::error(format!("The agent was stopped after {most} rounds, without a conclusion. Its last words:\n{words}")))
        }
        End::ByHook => Ok(Outcome::error("A hook ended the agent's work.")),
        end @ (End::Waits(_) | End::Stopped(_) | End::Failed(_)) => Err(end),
    }
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
    let own = definition.and_then(|agent| agent.model.clone()).filter(|model| model != INHERIT);
    let system = match definition {
        Some(agent) => agent.prompt.clone(),
        None if depth == 0 => format!(
            "You are an agent that works in the folder {}. Use your tools until the task is done, and check what you did. \
             Nobody watches: when a decision is the user's, ask with AskUserQuestion. End with a short conclusion.",
            host.cwd.display()
        ),
        None => format!(
            "You are a subagent that works in the folder {}. Complete the task, do not delegate further, and check what you did. \
             Your last message is all that the agent which started you reads: give your conclusion there.",
            host.cwd.display()
        ),
    };
    Request {
        model: own.or_else(|| inherited.map(str::to_owned)).unwrap_or_else(|| MODEL.into()),
        system,
        tools: tools::definitions(has, &host.agents),
    }
}
