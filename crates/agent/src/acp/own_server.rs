//! askbox's tools, as an MCP server that the agent starts.

use serde_json::{Value, json};

use askbox_mailbox::documents::fields::tool_call::{NEED_NO_APPROVAL, SERVER};

/// The server with askbox's tools.
#[derive(Clone, PartialEq, Eq)]
pub struct OwnServer {
    /// The absolute path of the program `askbox`.
    pub program: String,
    /// The environment variables that the agent has to pass on, because some agents give their servers none of their own.
    pub env: Vec<(String, String)>,
}

impl OwnServer {
    /// The server, as ACP names one.
    pub(super) fn offer(&self) -> Value {
        let env: Vec<_> = self.env.iter().map(|(name, value)| json!({ "name": name, "value": value })).collect();
        json!({ "name": SERVER, "command": self.program, "args": ["mcp"], "env": env })
    }
}

/// Without the values, because one of them is the secret of the run.
impl std::fmt::Debug for OwnServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<_> = self.env.iter().map(|(name, _)| name).collect();
        f.debug_struct("OwnServer").field("program", &self.program).field("env", &names).finish()
    }
}

/// The name of an MCP tool in the rules of the configuration.
pub(super) fn name_of_tool(server: &str, tool: &str) -> String {
    format!("mcp__{server}__{tool}")
}

/// True if this is the name of a tool of askbox that asks, saves a state or looks.
pub(super) fn needs_no_approval(name: &str) -> bool {
    NEED_NO_APPROVAL.iter().any(|tool| name == name_of_tool(SERVER, tool))
}
