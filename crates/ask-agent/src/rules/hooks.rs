//! Hooks: the operator's programs. Each gets an event as JSON on standard input, and may decide.

use serde_json::{Map, Value, json};

use crate::history::Call;
use crate::host::Host;
use crate::process;
use askbox_mailbox::Result;

/// The exit status that refuses.
const REFUSES: i32 = 2;

/// What the hooks before a call decide, the strongest last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) enum HookDecision {
    #[default]
    None,
    Allow,
    Ask,
    /// The call waits, and the turn ends. It is made when the session goes on.
    Defer,
    Deny,
}

/// What all hooks of one event say.
#[derive(Debug, Default)]
pub(crate) struct Verdict {
    pub decision: HookDecision,
    /// Why, for the model.
    pub reason: String,
    /// The input that replaces the call's.
    pub input: Option<Map<String, Value>>,
    /// Words for the model beside the result.
    pub context: Vec<String>,
    /// The turn is to end.
    pub ends_turn: bool,
}

/// Runs the hooks of an event. `about` are the fields of the event beside those that all events have.
pub(crate) fn run(host: &mut Host, event: &str, tool: &str, about: &Value) -> Result<Verdict> {
    let mut verdict = Verdict::default();
    for hook in host.settings.hooks(event, tool) {
        let mut input = about.clone();
        input["session_id"] = json!(host.session);
        input["transcript_path"] = json!(host.transcript);
        input["cwd"] = json!(host.cwd);
        input["permission_mode"] = json!(host.args.mode());
        input["hook_event_name"] = json!(event);
        match process::shell(host, &hook.command, &input.to_string(), hook.timeout, "") {
            Ok(ran) if ran.status == REFUSES => verdict.deny(event, ran.stderr.trim()),
            Ok(ran) if ran.status == 0 => verdict.take(event, &serde_json::from_str(&ran.stdout).unwrap_or_default()),
            Ok(ran) if hook.refuses_if_it_fails => verdict.deny(event, &format!("a hook failed with status {}", ran.status)),
            Err(e) if hook.refuses_if_it_fails => verdict.deny(event, &format!("a hook failed: {e}")),
            Ok(_) | Err(_) => {}
        }
    }
    Ok(verdict)
}

/// The fields of an event about a call.
pub(crate) fn about(call: &Call, agent: Option<&str>) -> Value {
    let mut about = json!({ "tool_name": call.name, "tool_input": call.input, "tool_use_id": call.id });
    // A call of a subagent has the type of the agent, and no `agent_id`: it can be deferred like every other call.
    agent.into_iter().for_each(|agent| about["agent_type"] = agent.into());
    about
}

impl Verdict {
    fn deny(&mut self, event: &str, reason: &str) {
        self.decide(HookDecision::Deny, &format!("{event} hook error: {reason}"));
    }

    fn decide(&mut self, decision: HookDecision, reason: &str) {
        if decision > self.decision {
            self.decision = decision;
            self.reason = reason.to_owned();
        }
    }

    fn take(&mut self, event: &str, output: &Value) {
        let specific = &output["hookSpecificOutput"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let reason = text(&specific["permissionDecisionReason"]);
        match specific["permissionDecision"].as_str() {
            Some("deny") => self.decide(HookDecision::Deny, &reason),
            Some("defer") => self.decide(HookDecision::Defer, &reason),
            Some("ask") => self.decide(HookDecision::Ask, &reason),
            Some("allow") => self.decide(HookDecision::Allow, &reason),
            _ => {}
        }
        if output["decision"] == "block" {
            match event {
                "PostToolUse" => self.context.push(text(&output["reason"])),
                _ => self.decide(HookDecision::Deny, &text(&output["reason"])),
            }
        }
        self.ends_turn |= output["continue"] == false;
        self.input = specific["updatedInput"].as_object().cloned().or(self.input.take());
        self.context.extend(specific["additionalContext"].as_str().map(str::to_owned));
    }
}
