//! The events that Claude Code sends to a hook, and the replies that it reads.

use std::io::Read;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use askbox_cli::program;
use askbox_mailbox::documents::fields::tool_call::ASK_USER_QUESTION;
use askbox_mailbox::{Error, IoContext, Result, SessionId};
use askbox_run::asking::defer::CallDecision;

/// The maximum size of an event, in bytes.
const LONGEST: u64 = 16 << 20;

/// The reason why Claude Code calls the hook.
pub(super) enum Event {
    PreToolUse(PreToolUse),
    /// A dialog asks the user of a session about a tool call.
    PermissionRequest(PermissionRequest),
    /// An MCP server asks the user of a session. No dialog is open before this hook has ended.
    Elicitation(Elicitation),
    /// The session begins or goes on.
    Session(Session),
    /// A file that the session watches has changed. Only its own file in the mailbox is watched.
    FileChanged(FileChanged),
    /// An event that this program does not answer.
    Other,
}

/// A moment when a session can be given news.
#[derive(Debug, Deserialize)]
pub(super) struct Session {
    pub(super) hook_event_name: Moment,
    pub(super) session_id: SessionId,
    /// The subagent that the event happens to. Missing in the session itself.
    pub(super) agent_id: Option<String>,
    /// The working folder of the session.
    #[serde(default)]
    pub(super) cwd: PathBuf,
    /// The tool that was called, if the event comes after a call.
    #[serde(default)]
    pub(super) tool_name: String,
    #[serde(default)]
    pub(super) tool_use_id: String,
    #[serde(default)]
    pub(super) tool_input: Value,
    #[serde(default)]
    pub(super) tool_response: Value,
}

impl Session {
    /// True if the session's user has just answered a question of the session's own agent.
    pub(super) fn is_answer(&self) -> bool {
        self.hook_event_name == Moment::PostToolUse && self.tool_name == ASK_USER_QUESTION && self.agent_id.is_none()
    }

    /// True if the session has just made a call that its user may have changed.
    pub(super) fn is_changeable_call(&self) -> bool {
        self.hook_event_name == Moment::PostToolUse && MAY_BE_CHANGED.contains(&self.tool_name.as_str())
    }
}

/// The tools after whose calls the plugin calls this hook.
const MAY_BE_CHANGED: [&str; 3] = ["Bash", "Write", "Edit"];

/// The kind of moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Moment {
    SessionStart,
    UserPromptSubmit,
    PostToolUse,
    FileChanged,
}

/// A watched file has changed.
#[derive(Debug, Deserialize)]
pub(super) struct FileChanged {
    pub(super) session_id: SessionId,
}

/// A tool is about to be called.
#[derive(Debug, Deserialize)]
pub(super) struct PreToolUse {
    #[serde(default)]
    pub(super) session_id: String,
    /// The id of the user's prompt, which names the turn.
    #[serde(default)]
    pub(super) prompt_id: Value,
    /// The working folder of the session.
    #[serde(default)]
    pub(super) cwd: PathBuf,
    pub(super) tool_name: String,
    #[serde(default)]
    pub(super) tool_use_id: String,
    #[serde(default)]
    pub(super) tool_input: Map<String, Value>,
    /// The subagent that makes the call. Missing if the session itself makes it.
    pub(super) agent_id: Option<String>,
    /// The type of that agent.
    pub(super) agent_type: Option<String>,
}

/// A session shows its user a dialog about a tool call. Claude Code does not tell the id of the call.
#[derive(Debug, Deserialize)]
pub(super) struct PermissionRequest {
    pub(super) session_id: SessionId,
    /// The transcript of the session, also if a subagent makes the call.
    pub(super) transcript_path: PathBuf,
    /// The working folder of the session.
    pub(super) cwd: PathBuf,
    pub(super) tool_name: String,
    #[serde(default)]
    pub(super) tool_input: Map<String, Value>,
    /// The id of the user's prompt.
    #[serde(default)]
    pub(super) prompt_id: Value,
    /// The subagent that makes the call. Missing if the session itself makes it.
    pub(super) agent_id: Option<String>,
    /// The type of that agent.
    pub(super) agent_type: Option<String>,
    /// The permissions that the dialog offers beside the call.
    #[serde(default)]
    pub(super) permission_suggestions: Vec<Value>,
}

/// An MCP server asks the user of a session. Claude Code tells no id of the request or of the call.
#[derive(Debug, Deserialize)]
pub(super) struct Elicitation {
    pub(super) session_id: SessionId,
    pub(super) transcript_path: PathBuf,
    /// The working folder of the session.
    pub(super) cwd: PathBuf,
    pub(super) mcp_server_name: String,
    /// `form` or `url`. Missing in an older request, which is a form.
    #[serde(default)]
    pub(super) mode: String,
    /// The rest: `message`, `requested_schema` and the marks of the turn.
    #[serde(flatten)]
    pub(super) input: Map<String, Value>,
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
        Some("PermissionRequest") => serde_json::from_value(event).map(Event::PermissionRequest).map_err(invalid),
        Some("Elicitation") => serde_json::from_value(event).map(Event::Elicitation).map_err(invalid),
        Some("SessionStart" | "UserPromptSubmit" | "PostToolUse") => serde_json::from_value(event).map(Event::Session).map_err(invalid),
        Some("FileChanged") => serde_json::from_value(event).map(Event::FileChanged).map_err(invalid),
        Some(_) => Ok(Event::Other),
    }
}

/// Gives the session these words as additional context, and a file to watch.
pub(super) fn tell(moment: Moment, words: Option<&str>, watched: Option<&Path>) -> Result<()> {
    let mut output = json!({ "hookEventName": moment });
    if let Some(words) = words {
        output["additionalContext"] = words.into();
    }
    if let Some(path) = watched {
        output["watchPaths"] = json!([path]);
    }
    program::print_json(&json!({ "hookSpecificOutput": output }))
}

/// The reply about a call.
#[derive(Debug, derive_more::From)]
pub(super) enum HookReply {
    /// The call is decided about, or waits.
    #[from]
    Decided(CallDecision),
    /// Claude Code asks its host about the call, whatever its own rules allow. In a run of askbox that is the supervisor.
    AskHost,
    /// The call is made with this input if Claude Code's own rules allow it.
    Change(Map<String, Value>),
    /// The call is not made, and the turn ends.
    Stop,
}

impl HookReply {
    /// The call is made with this input.
    pub(super) fn allow(input: Map<String, Value>) -> Self {
        CallDecision::allow(input).into()
    }

    /// The call is not made, and the model reads these words.
    pub(super) fn deny(words: impl Into<String>) -> Self {
        CallDecision::Refuse(words.into()).into()
    }

    pub(super) fn print(&self) -> Result<()> {
        let mut output = match self {
            // The call waits in the session, and the turn ends.
            Self::Decided(CallDecision::Waits) => json!({ "permissionDecision": "defer" }),
            Self::Decided(CallDecision::Allow(allow)) => {
                let mut output = json!({ "permissionDecision": "allow", "updatedInput": allow.input });
                allow.tell.iter().for_each(|words| output["additionalContext"] = words.as_str().into());
                output
            }
            Self::Decided(CallDecision::Refuse(reason)) => json!({ "permissionDecision": "deny", "permissionDecisionReason": reason }),
            Self::AskHost => json!({ "permissionDecision": "ask" }),
            Self::Change(input) => json!({ "updatedInput": input }),
            Self::Stop => {
                json!({ "permissionDecision": "deny", "permissionDecisionReason": "Your user stopped this turn through askbox." })
            }
        };
        output["hookEventName"] = "PreToolUse".into();
        let mut reply = json!({ "hookSpecificOutput": output });
        if matches!(self, Self::Stop) {
            // A refusal alone lets the model go on, and this alone lets the tool run.
            (reply["continue"], reply["stopReason"]) = (false.into(), "stopped through askbox".into());
        }
        program::print_json(&reply)?;
        if let Self::Decided(CallDecision::Allow(allow)) = self {
            allow.record();
        }
        Ok(())
    }
}
