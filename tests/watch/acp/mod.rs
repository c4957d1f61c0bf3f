//! Agents that speak the Agent Client Protocol: what they are told, which ends count, and how they are stopped.

use std::fs;

use serde_json::{Value, json};

use crate::support::{World, root, until, whole_lines};

mod delivery;
mod forms;
mod killed;
mod lost_calls;
mod own_tools;
mod permissions;
mod silent_starts;
mod stops;
mod watcher_killed;

/// A world whose workflows `acp-…` are run by the scripted agent that speaks ACP. `runner` are further keys of its section.
pub(crate) fn world(runner: &str, more: &str) -> World {
    let world = World::new().with_scripted_agent();
    let program = root().join("crates/testkit/agents/acp.py").display().to_string();
    world.configure(&format!(
        "[relaunch]\nbackoff = \"20ms\"\nbackoff_max = \"40ms\"\nmode = \"resume\"\n{more}\n\
         [runner.agent]\nkind = \"acp\"\nprogram = \"{program}\"\nworkflows = [\"acp-*\"]\n{runner}\n"
    ));
    world.make_mailbox();
    world
}

/// What the agent does at each prompt, one list of steps for each.
fn turns(world: &World, turns: &[Value]) {
    fs::write(world.agent("turns"), turns.iter().map(|turn| format!("{turn}\n")).collect::<String>()).unwrap();
}

/// Waits until the agent stands at `pause`, and returns its pid.
fn at(world: &World, step: &str) -> i32 {
    let path = world.agent(&format!("at.{step}"));
    until("the agent comes to its step", || fs::read_to_string(&path).ok()?.trim().parse().ok())
}

/// The lines of a file of the agent.
pub(crate) fn lines(world: &World, name: &str) -> Vec<Value> {
    let text = fs::read_to_string(world.agent(name)).unwrap_or_default();
    whole_lines(&text).map(|line| serde_json::from_str(line).unwrap_or_else(|_| line.into())).collect()
}

/// The texts of the prompts so far.
fn told(world: &World) -> Vec<String> {
    lines(world, "told").iter().map(|text| text.as_str().unwrap().to_owned()).collect()
}

/// The methods that askbox has called, in order, without the replies.
fn called(world: &World) -> Vec<String> {
    lines(world, "received").iter().filter_map(|line| Some(line["method"].as_str()?.to_owned())).collect()
}

/// The events of an attempt of the newest round of a workflow.
fn events(world: &World, workflow: &str, attempt: u32) -> Vec<Value> {
    let round = world.names(&format!("runs/{workflow}")).into_iter().rfind(|name| name.len() == 36).unwrap();
    let text = fs::read_to_string(world.in_mailbox(format!("runs/{workflow}/{round}/{attempt}/events.jsonl"))).unwrap();
    whole_lines(&text).map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The types of these events, without notes and raw lines.
fn types(events: &[Value]) -> Vec<&str> {
    events.iter().filter_map(|event| event["type"].as_str()).filter(|kind| !matches!(*kind, "note" | "raw" | "generating")).collect()
}
