//! The form of an MCP server, while nobody is at the terminal.

use std::process::Command;

use serde_json::{Value, json};

use super::killed::processes_of;
use super::{Attended, closed, only_question, world};
use crate::support::until;

/// The server's tool asks once this file exists, in the working folder.
const ASKS: &str = "asks";

/// A step of the model that calls the server's tool.
fn order(session: &Attended<'_>) -> Value {
    let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]});
    let ask = json!({"mode": "form", "message": "Your order?", "requestedSchema": schema});
    json!({"tool": "mcp__shop__order", "input": {"ask": ask, "behind": session.world.work().join(ASKS)}})
}

/// The person goes away from the terminal, and comes back after an hour. Meanwhile the server asks.
fn server_asks_an_empty_terminal(session: &Attended<'_>) -> String {
    session.terminal.see("Calling shop");
    let pid = processes_of(session).pop().expect("the session runs");
    let device = std::fs::read_link(format!("/proc/{pid}/fd/0")).expect("the session's terminal");
    let is_set = Command::new("touch").args(["-a", "-d", "1 hour ago"]).arg(device).status();
    assert!(is_set.is_ok_and(|status| status.success()));
    std::fs::write(session.world.work().join(ASKS), "").expect("a file");
    only_question(session.world)
}

#[test]
fn a_form_of_an_attended_session_is_answered_from_elsewhere() {
    let world = world();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/eliciting_mcp_server.py");
    let servers = json!({"mcpServers": {"shop": {"command": "python3", "args": [script]}}}).to_string();
    let session = Attended::begin_with(&world, "default", &["--mcp-config", &servers, "--allowed-tools", "mcp__shop__order"]);
    let find = json!({"tool": "ToolSearch", "input": {"query": "select:mcp__shop__order", "max_results": 5}});
    session.goes(&[find, order(&session)]);
    let id = server_asks_an_empty_terminal(&session);
    world.ok("ask-answer", &[&id, "Walnut"]);
    let told = session.told();
    assert!(told.contains(r#"{"action": "accept", "content": {"name": "Walnut"}}"#), "{told}");
    closed(&world, &id, "delivered");
    // The next form is for the person who comes back.
    std::fs::remove_file(world.work().join(ASKS)).expect("it is there");
    session.idles();
    session.answers_with("Once more.", &[order(&session)]);
    session.terminal.press(&["Once more.", "Enter"]);
    let id = server_asks_an_empty_terminal(&session);
    assert!(!session.terminal.screen().contains("Your order?"), "no form is open: {}", session.terminal.screen());
    session.terminal.burst(&["x"]);
    session.terminal.see("Your order?");
    let end =
        until("the round is closed", || world.rounds("closed", &id).into_iter().find(|round| round["closed"]["state"] == "withdrawn"));
    assert!(end["closed"]["why"].as_str().expect("a reason").contains("somebody is at its terminal"), "{end}");
}
