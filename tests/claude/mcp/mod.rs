//! The real `claude` with `askbox mcp` as its server, and Python's client of the protocol.

mod headless;
mod in_runs;
mod interactive;
mod killed;
mod plugin;
mod python;

use serde_json::{Value, json};

/// The name that `claude` gives to a tool of the server.
pub fn tool(name: &str) -> String {
    format!("mcp__askbox__{name}")
}

/// A script step: `claude` keeps tools of servers aside until the model looks for them.
pub fn find(names: &[&str]) -> Value {
    let names: Vec<_> = names.iter().map(|name| tool(name)).collect();
    json!({"tool": "ToolSearch", "input": {"query": format!("select:{}", names.join(",")), "max_results": 5}})
}

/// A script step: a call of a tool of the server.
pub fn call(name: &str, input: &Value) -> Value {
    json!({"tool": tool(name), "input": input})
}

/// The argument of `--mcp-config`.
pub fn servers() -> String {
    json!({"mcpServers": {"askbox": {"command": "askbox", "args": ["mcp"]}}}).to_string()
}

pub fn which_database() -> Value {
    json!({"question": "Which database?", "workflow_id": "db", "options": [{"label": "pg", "description": "Postgres"}, {"label": "lite"}]})
}
