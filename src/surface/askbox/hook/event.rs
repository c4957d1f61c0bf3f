//! What Claude Code says to a PreToolUse hook, and the decision that it reads.

use std::io::Read;
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::error::{Error, IoContext, Result};
use crate::surface::program;

/// The most bytes of an event.
const LONGEST: u64 = 16 << 20;

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
}

/// Reads the event from standard input.
pub(super) fn read() -> Result<PreToolUse> {
    let mut bytes = Vec::new();
    std::io::stdin().lock().take(LONGEST).read_to_end(&mut bytes).io("read", "standard input")?;
    serde_json::from_slice(&bytes).map_err(|e| {
        Error::invalid("standard input", format!("is no event of a PreToolUse hook: {e}"), "let Claude Code call this command")
    })
}

/// What is to become of the call.
#[derive(Debug)]
pub(super) enum Decision {
    /// It waits in the session; the turn ends.
    Defer,
    /// It is made with this input.
    Allow(Map<String, Value>),
    /// It is not made; the model reads this.
    Deny(String),
}

impl Decision {
    pub(super) fn print(&self) -> Result<()> {
        let decision = match self {
            Self::Defer => json!({ "permissionDecision": "defer" }),
            Self::Allow(input) => json!({ "permissionDecision": "allow", "updatedInput": input }),
            Self::Deny(reason) => json!({ "permissionDecision": "deny", "permissionDecisionReason": reason }),
        };
        let mut output = json!({ "hookEventName": "PreToolUse" });
        if let (Some(output), Value::Object(decision)) = (output.as_object_mut(), decision) {
            output.extend(decision);
        }
        program::print_json(&json!({ "hookSpecificOutput": output }))
    }
}
