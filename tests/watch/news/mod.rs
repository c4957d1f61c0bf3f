//! News: who is told of what, when, and once.
//!
//! | file | content |
//! |---|---|
//! | `mod.rs` | a program that notes what it is told |
//! | `events.rs` | which events are told |
//! | `moments.rs` | when: grace, presence, quiet hours |
//! | `at_terminals.rs` | dialogs at terminals that nobody can answer from another place |
//! | `ended_turns.rs` | how far a person's prompt to a session has come |
//! | `channel.rs` | a channel of the operator's, scripted |
//! | `crashes.rs` | the teller is killed, doubled, refused |
//! | `killed_at_each_step.rs` | fifty questions, cards and buttons, and a notifier that is killed in between |
//! | `webhook.rs` | a request, checked by an independent receiver |
//! | `desktop.rs` | a real notification daemon |
//! | `phone.rs` | ntfy: buttons, late replies, forged ones |

mod at_terminals;
mod channel;
mod crashes;
mod desktop;
mod ended_turns;
mod events;
mod killed_at_each_step;
mod moments;
mod phone;
mod webhook;

use serde_json::Value;

use crate::support::{Server, World, files, whole_lines};

/// A world with a target `desk` that notes what it is told, one JSON object a line. `more` is configuration.
fn world_with_desk(agent: &str, more: &str) -> World {
    let world = World::stepping(agent);
    let program = world.path("desk.sh");
    files::write_program(
        &program,
        "#!/bin/sh\nnews=$(cat)\nprintf '%s\\n' \"$news\" >>\"$AGENT_DIR/desk\"\n[ ! -e \"$AGENT_DIR/desk_fails\" ]\n",
    );
    world.configure(&format!("{more}\n[target.desk]\nexec = [\"{}\"]\n", program.display()));
    world.make_mailbox();
    world
}

/// The news that the desk was told.
fn told(world: &World) -> Vec<Value> {
    let text = std::fs::read_to_string(world.agent("desk")).unwrap_or_default();
    whole_lines(&text).filter(|line| !line.is_empty()).map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// The words `EVENT WORKFLOW` of what the desk was told.
fn words(world: &World) -> Vec<String> {
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    told(world).iter().map(|news| format!("{} {}", word(&news["event"]), word(&news["workflow_id"])).trim().to_owned()).collect()
}

/// The records of a target.
fn records(world: &World, target: &str) -> Vec<String> {
    world.names(&format!("news/{target}"))
}

/// The objects that a server has written to a file, one a line.
fn lines(world: &World, file: &str) -> Vec<Value> {
    Server::lines(world, file)
}
