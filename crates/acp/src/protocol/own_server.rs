//! askbox's tools, as an MCP server that the agent starts.

use serde_json::{Value, json};

use askbox_agent::claude::CONFIG_DIR;
use askbox_mailbox::documents::fields::asked_in::NONCE;
use askbox_mailbox::documents::fields::tool_call::SERVER;
use askbox_mailbox::documents::fields::trace::{TRACEPARENT, TRACESTATE};
use askbox_run::fence::request::FENCE;
use askbox_run::programs;

/// The server with askbox's tools.
#[derive(Clone, PartialEq, Eq, derive_more::Debug)]
pub struct OwnServer {
    /// The absolute path of the program `askbox`.
    pub program: String,
    /// The environment variables that the agent has to pass on, because some agents give their servers none of their own.
    // Without the values, because one of them is the secret of the run.
    #[debug("{:?}", env.iter().map(|(name, _)| name).collect::<Vec<_>>())]
    pub env: Vec<(String, String)>,
}

/// The variables that the server reads: the run, the place of the run in a trace, the user's folders, and the operator's configuration.
const READ: [&str; 17] = [
    "ASKBOX_DIR", "ASKBOX_WORKFLOW_ID", "WORKFLOW_ID", "ASKBOX_SESSION_ID", "ASKBOX_RUN", FENCE, NONCE, TRACEPARENT, TRACESTATE, "HOME",
    "PATH", "USER", "LOGNAME", "ASKBOX_CONFIG", "XDG_CONFIG_HOME", "XDG_STATE_HOME", CONFIG_DIR,
];

impl OwnServer {
    /// The server for the agent that this process starts. It gets the variables of the agent's shell, so that a question is asked in the same
    /// run whichever way it is asked.
    ///
    /// # Errors
    /// Why there is none.
    pub fn of_this_run() -> Result<Self, String> {
        let program = programs::askbox().ok_or("the program `askbox` is not installed")?;
        let program = std::path::absolute(program).ok().and_then(|path| path.to_str().map(str::to_owned));
        let program = program.ok_or("the path of the program `askbox` is not UTF-8")?;
        let env =
            READ.into_iter().filter_map(|name| Some((name, std::env::var_os(name)?))).map(|(name, value)| match value.into_string() {
                Ok(value) => Ok((name.to_owned(), value)),
                Err(_) => Err(format!("the variable {name} is not UTF-8")),
            });
        Ok(Self { program, env: env.collect::<Result<_, _>>()? })
    }

    /// The server, as ACP names one. `asks_as` is another name of its tool that asks; empty for its own.
    pub(super) fn offer(&self, asks_as: &str) -> Value {
        let env: Vec<_> = self.env.iter().map(|(name, value)| json!({ "name": name, "value": value })).collect();
        let args = if asks_as.is_empty() { vec!["mcp"] } else { vec!["mcp", "--ask-as", asks_as] };
        json!({ "name": SERVER, "command": self.program, "args": args, "env": env })
    }
}

/// The name of an MCP tool in the rules of the configuration.
pub(super) fn name_of_tool(server: &str, tool: &str) -> String {
    format!("mcp__{server}__{tool}")
}
