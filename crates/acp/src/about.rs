//! Asks an agent what it can do, without a model. `askbox doctor` shows it.

use std::io::Write;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::protocol::{AgentInfo, AgentReply, Client, Item, SessionPlace};
use askbox_agent::stream::lines::BoundedLines;
use askbox_config::Runner;
use askbox_mailbox::{IoContext, Result};
use askbox_run::launch;

/// Starts the agent of a runner and asks it what it can do. It ends with this process.
pub(crate) fn ask(runner: &Runner) -> Result<Value> {
    let mut call = launch::command_tied_to_this_thread(runner.program.as_ref());
    let mut agent =
        call.args(&runner.args).envs(&runner.env).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().io("launch", &runner.program)?;
    let mut client = Client::new("", SessionPlace::default(), None);
    // An agent that has ended already does not read it. Its standard error says why.
    let _ = agent.stdin.as_mut().map(|input| input.write_all(client.initialize().as_bytes()));
    let Some(output) = agent.stdout.take() else { return Ok(ended()) };
    let mut lines = BoundedLines::new(output);
    while let Ok(Some(line)) = lines.next_line() {
        let said = client.feed(&line).into_iter().find_map(|item| match item {
            Item::Replied(AgentReply::Initialized(info)) => Some(info),
            _ => None,
        });
        if let Some(info) = said {
            return Ok(in_json(&info));
        }
    }
    Ok(ended())
}

fn ended() -> Value {
    json!({ "problem": "its agent ended without an answer to `initialize` of ACP" })
}

fn in_json(info: &AgentInfo) -> Value {
    if !info.is_understood() {
        return json!({ "problem": format!("its agent speaks version {} of ACP, and askbox speaks version 1", info.protocol) });
    }
    let continues_by = match (info.can_resume, info.can_load) {
        (true, _) => "resume",
        (false, true) => "load",
        (false, false) => "none",
    };
    json!({ "name": info.name.excerpt(80), "version": info.version.excerpt(80), "continues_by": continues_by })
}
