//! The field `tool_call` of a question that an agent asked with one of its tools. The call is suspended in the agent's session, and
//! the answer becomes its result.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// The name of Claude Code's tool that asks the user.
pub const ASK_USER_QUESTION: &str = "AskUserQuestion";

/// The name of Codex's tool that asks the user.
pub const REQUEST_USER_INPUT: &str = "request_user_input";

/// The name of opencode's tool that asks the user.
pub const QUESTION: &str = "question";

/// The names of the tool `ask_user` of `askbox mcp`, as Claude Code forms them: one for a server called `askbox`, one for the
/// plugin's server.
pub const ASK_USER: [&str; 2] = ["mcp__askbox__ask_user", "mcp__plugin_askbox_askbox__ask_user"];

/// The name of the server of `askbox mcp` where askbox itself names it.
pub const SERVER: &str = "askbox";

/// The tools of `askbox mcp` that an agent may call without an approval. They ask, save a state and look. The tools that end a run or
/// answer a question are not among them.
pub const NEED_NO_APPROVAL: [&str; 6] = ["ask_user", "check_answer", "save_checkpoint", "load_checkpoint", "list_questions", "run_status"];

/// The begin of the id that stands in for one that the session had not told.
const NOT_TOLD: &str = "not-told-";

/// The longest name and the longest id of a call, in bytes.
const LONGEST: usize = 256;

/// A suspended tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ToolCall {
    /// The tool's name.
    pub name: String,
    /// The id of the call in the session. It begins with `not-told-` if the session had told no id when it asked.
    pub id: String,
    /// The subagent that makes the call; missing if the session itself makes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subagent: Option<Subagent>,
}

/// An agent inside the session, which the session's agent has started.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Subagent {
    /// Its id in the session.
    pub id: String,
    /// The name of its definition; missing if it is not known.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// Its task in a few words, which are those of the agent that started it; missing if it is not known.
    pub task: Option<String>,
}

impl ToolCall {
    /// Returns an id for a call whose own id the session has not told. `mark` tells it from other calls.
    pub fn id_not_told(mark: &str) -> String {
        format!("{NOT_TOLD}{mark}")
    }

    /// The id of the call in the session. `None` if the session had not told it.
    pub fn told_id(&self) -> Option<&str> {
        Some(self.id.as_str()).filter(|id| !id.starts_with(NOT_TOLD))
    }

    /// Checks that the name, the id and those of a subagent are not empty and at most 256 bytes long.
    ///
    /// # Errors
    /// [`Error::Invalid`] with the field `tool_call`.
    pub fn check(&self) -> Result<()> {
        let is_good = |text: &str| !text.is_empty() && text.len() <= LONGEST;
        let of_subagent = self.subagent.iter().flat_map(|agent| [Some(&agent.id), agent.kind.as_ref(), agent.task.as_ref()]).flatten();
        match [&self.name, &self.id].into_iter().chain(of_subagent).all(|text| is_good(text)) {
            true => Ok(()),
            false => Err(Error::invalid(
                "tool_call",
                format!("has a name, an id or a task that is empty or over {LONGEST} bytes"),
                "leave it out",
            )),
        }
    }
}
