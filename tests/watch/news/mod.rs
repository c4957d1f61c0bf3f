//! News: who is told of what, when, and once.
//!
//! | file | content |
//! |---|---|
//! | `mod.rs` | a program that notes what it is told |
//! | `events.rs` | which events are told |
//! | `moments.rs` | when: grace, presence, quiet hours |
//! | `crashes.rs` | the teller is killed, doubled, refused |
//! | `webhook.rs` | a request, checked by an independent receiver |
//! | `desktop.rs` | a real notification daemon |
//! | `phone.rs` | ntfy: buttons, late replies, forged ones |

mod crashes;
mod desktop;
mod events;
mod moments;
mod phone;
mod webhook;

use std::path::Path;
use std::process::Stdio;

use serde_json::Value;

use crate::support::{Running, World, files, until};

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

/// What the desk was told.
fn told(world: &World) -> Vec<Value> {
    let text = std::fs::read_to_string(world.agent("desk")).unwrap_or_default();
    text.lines().filter(|line| !line.is_empty()).map(|line| serde_json::from_str(line).expect("JSON")).collect()
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

/// A server of this folder at work; it is killed when this is dropped.
struct Server {
    _process: Running,
    port: u16,
}

impl Server {
    /// Starts a script of this folder, which writes its port to the file `port` and what it hears to other files of its folder.
    fn start(world: &World, script: &str, args: &[&str]) -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/watch/news").join(script);
        let folder = world.path("server");
        std::fs::create_dir_all(&folder).expect("the server's folder");
        let _ = std::fs::remove_file(folder.join("port"));
        let mut command = world.any_command("python3");
        let process = Running::start(command.arg(path).arg(&folder).args(args).stdin(Stdio::null()));
        let port = until("the server listens", || std::fs::read_to_string(folder.join("port")).ok()?.trim().parse().ok());
        Self { _process: process, port }
    }
}

/// The objects that a server has written to a file, one a line.
fn lines(world: &World, file: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(world.path("server").join(file)).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}
