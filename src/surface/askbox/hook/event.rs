//! What Claude Code says to a hook, and what it reads.

use std::io::Read;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::error::{Error, IoContext, Result};
use crate::id::SessionId;
use crate::mailbox::documents::fields::tool_call::ASK_USER_QUESTION;
use crate::surface::program;

/// The most bytes of an event.
const LONGEST: u64 = 16 << 20;

/// What Claude Code calls the hook for.
#[derive(Debug)]
pub(super) enum Event {
    PreToolUse(PreToolUse),
    /// The session begins or goes on.
    Session(Session),
    /// Nothing that this program answers.
    Other,
}

/// A moment at which a session can be told something.
#[derive(Debug, Deserialize)]
pub(super) struct Session {
    pub(super) hook_event_name: Moment,
    pub(super) session_id: SessionId,
    /// The subagent in which it happens; missing in the session itself.
    #[serde(default)]
    pub(super) agent_id: Option<String>,
    /// The tool that was called, at the moment after a call.
    #[serde(default)]
    pub(super) tool_name: String,
    #[serde(default)]
    pub(super) tool_input: Value,
    #[serde(default)]
    pub(super) tool_response: Value,
}

impl Session {
    /// Whether the session's user has just answered a question of its own agent.
    pub(super) fn is_answer(&self) -> bool {
        self.hook_event_name == Moment::PostToolUse && self.tool_name == ASK_USER_QUESTION && self.agent_id.is_none()
    }
}

/// Which moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Moment {
    SessionStart,
    UserPromptSubmit,
    PostToolUse,
}

/// A tool is about to be called.
#[derive(Debug, Deserialize)]
pub(super) struct PreToolUse {
    #[serde(default)]
    pub(super) session_id: String,
    /// The working folder of the session.
    #[serde(default)]
    pub(super) cwd: PathBuf,
    pub(super) tool_name: String,
    #[serde(default)]
    pub(super) tool_use_id: String,
    #[serde(default)]
    pub(super) tool_input: Map<String, Value>,
    /// The subagent that calls; missing where the session itself does.
    #[serde(default)]
    pub(super) agent_id: Option<String>,
    /// Which agent it is.
    #[serde(default)]
    pub(super) agent_type: Option<String>,
}

/// Reads the event from standard input.
pub(super) fn read() -> Result<Event> {
    let mut bytes = Vec::new();
    std::io::stdin().lock().take(LONGEST).read_to_end(&mut bytes).io("read", "standard input")?;
    let invalid =
        |e: serde_json::Error| Error::invalid("standard input", format!("is no event of a hook: {e}"), "let Claude Code call this command");
    let event: Value = serde_json::from_slice(&bytes).map_err(invalid)?;
    match event["hook_event_name"].as_str() {
        Some("PreToolUse") | None => serde_json::from_value(event).map(Event::PreToolUse).map_err(invalid),
        Some("SessionStart" | "UserPromptSubmit" | "PostToolUse") => serde_json::from_value(event).map(Event::Session).map_err(invalid),
        Some(_) => Ok(Event::Other),
    }
}

/// Tells the session this.
pub(super) fn tell(moment: Moment, words: &str) -> Result<()> {
    program::print_json(&json!({ "hookSpecificOutput": { "hookEventName": moment, "additionalContext": words } }))
}

/// What is to become of the call.
#[derive(Debug)]
pub(super) enum Decision {
    /// It waits in the session; the turn ends.
    Defer,
    /// It is made with this input.
    Allow(Map<String, Value>),
    /// It is made with this input if Claude Code's own rules allow it.
    Change(Map<String, Value>),
    /// It is not made; the model reads this.
    Deny(String),
}

impl Decision {
    pub(super) fn print(&self) -> Result<()> {
        let decision = match self {
            Self::Defer => json!({ "permissionDecision": "defer" }),
            Self::Allow(input) => json!({ "permissionDecision": "allow", "updatedInput": input }),
            Self::Change(input) => json!({ "updatedInput": input }),
            Self::Deny(reason) => json!({ "permissionDecision": "deny", "permissionDecisionReason": reason }),
        };
        let mut output = json!({ "hookEventName": "PreToolUse" });
        if let (Some(output), Value::Object(decision)) = (output.as_object_mut(), decision) {
            output.extend(decision);
        }
        program::print_json(&json!({ "hookSpecificOutput": output }))
    }
}
