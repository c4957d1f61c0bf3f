//! Calls that a person has to allow, in runs of askbox with the real `claude`.
//!
//! | file | content |
//! |---|---|
//! | `allowed` | asked, allowed or refused, and made once or not at all |
//! | `beside` | calls beside each other in one message |
//! | `by_page` | allowed and refused by the page |
//! | `edited` | changed by the person, and made as they changed it |
//! | `granted` | allowed or refused to a workflow for good, and revoked |
//! | `held` | what does not get through: other rules, other calls in the same message, subagents, messages |
//! | `stopped` | calls that no rule of the operator names, and Claude Code's own rules stop |
//! | `subagents` | calls of subagents inside the session |
//! | `forged` | where only signed answers count: an agent's own answers and grants |
//! | `failing` | processes that die, and hooks that are missing |

mod allowed;
mod beside;
mod by_page;
mod edited;
mod failing;
mod forged;
mod granted;
mod held;
mod stopped;
mod subagents;

use serde_json::{Value, json};

use crate::support::ClaudeWorld;

/// The operator's rule for the commands of these tests.
const ASK: &str = "[approvals]\nask = ['Bash(note:*)']\n";

/// A world that asks a person about `note TEXT`, a program on the agent's PATH that writes a line to a file.
fn world_with(config: &str) -> ClaudeWorld {
    let mut world = ClaudeWorld::new();
    let made = world.path("made");
    world.add_script("note", &format!("echo \"$@\" >> '{}'; echo noted \"$@\"", made.display()));
    world.configure(config);
    world.keep_watching_from_the_start();
    world
}

/// Starts a run of `w` that goes through these steps.
#[track_caller]
fn begin(world: &ClaudeWorld, steps: &Value) {
    world.ask("w", &["Begin?"]);
    world.api.on("User chose: begin", steps.clone());
    world.answer("w", "begin");
}

/// A run of `w` that goes through these steps, until it has ended and `w` asks.
#[track_caller]
fn run_that_asks(steps: &Value) -> ClaudeWorld {
    let world = world_with(ASK);
    begin(&world, steps);
    wait_until_it_asks(&world, 1);
    world
}

/// Waits until the run has ended, `rounds` rounds of `w` are over, and `w` asks about a call. Returns the question.
#[track_caller]
fn wait_until_it_asks(world: &ClaudeWorld, rounds: usize) -> Value {
    world.wait_status("w", "asking", |s| {
        s["state"] == "pending" && world.names("running").is_empty() && world.rounds("closed", "w").len() == rounds
    });
    let asked = world.document("pending/w.json");
    assert!(asked["approval"].is_object(), "{asked}");
    asked
}

/// Allows the call that `w` asks about once, and adds a note.
#[track_caller]
fn allow_once_with_note(world: &ClaudeWorld, note: &str) {
    world.ok("ask-answer", &["w", "once", "--round", &world.seen("w"), "--note", note]);
}

/// The lines that `note` has written.
fn made(world: &ClaudeWorld) -> Vec<String> {
    std::fs::read_to_string(world.path("made")).unwrap_or_default().lines().map(str::to_owned).collect()
}

/// The results of the model's latest calls, as it was told them.
fn told(world: &ClaudeWorld) -> String {
    world.api.turns().pop().expect("a turn").tool_results().concat()
}

fn question_about_a_database() -> Value {
    let options = [json!({"label": "SQLite", "description": "one file"}), json!({"label": "Postgres", "description": "a server"})];
    json!({"tool": "AskUserQuestion", "input": {"questions": [
        {"question": "Which database?", "header": "Choice", "multiSelect": false, "options": options}
    ]}})
}
