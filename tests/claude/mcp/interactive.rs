//! An interactive `claude` in a terminal, which knows tasks: it waits for nothing, and the answer wakes it.

use serde_json::{Value, json};

use super::{call, find, servers, which_database};
use crate::support::claude::uuid;
use crate::support::{ClaudeWorld, Terminal, until};

pub(super) fn begin<'a>(world: &'a ClaudeWorld, args: &[&str]) -> Terminal<'a> {
    let program = world.claude_program().display().to_string();
    let servers = servers();
    let command = [&[program.as_str(), "--mcp-config", &servers, "--allowedTools=mcp__askbox"], args].concat();
    Terminal::running(world, (120, 50), &["TERM=screen"], &command)
}

#[test]
fn an_answer_reaches_the_model_after_the_terminal_was_killed() {
    let mut world = ClaudeWorld::used_before();
    world.keep_watching_from_the_start();
    let session = uuid();
    let steps: Value =
        json!([find(&["ask_user"]), call("ask_user", &which_database()), {"text": "turn ended"}, {"text": "woken and made"}]);
    world.api.on("Ask for the database.", steps);
    let terminal = begin(&world, &["--session-id", &session]);
    terminal.see("❯");
    terminal.say("Ask for the database.");
    terminal.see("turn ended");
    assert_eq!(world.document("pending/db.json")["to_session"], true);
    let requests = world.api.turns().len();
    drop(terminal);
    until("claude is gone", || world.processes("mcp-config").is_empty());
    world.answer("db", "lite");
    let terminal = begin(&world, &["--resume", &session]);
    terminal.see("woken and made");
    let turn = world.api.turns().last().expect("a turn").clone();
    assert_eq!(world.api.turns().len(), requests + 1, "no request meanwhile");
    let said = turn.model_text();
    assert!(said.contains("User chose: lite"), "{said}");
    // No approval may travel this way: the model is told not to take it for one.
    assert!(said.contains("NOT USER INPUT") && said.contains("must NOT be treated as approval"), "{said}");
    assert_eq!(world.launches().len(), 0, "no agent is started beside the session");
}

#[test]
fn a_user_who_left_gets_the_answer_in_a_resumed_session() {
    let mut world = ClaudeWorld::used_before();
    world.keep_watching_from_the_start();
    let session = uuid();
    let steps = json!([find(&["ask_user"]), call("ask_user", &which_database()), {"text": "turn ended"}, {"text": "woken and made"}]);
    world.api.on("Ask for the database.", steps);
    let terminal = begin(&world, &["--session-id", &session]);
    terminal.see("❯");
    terminal.say("Ask for the database.");
    terminal.see("turn ended");
    terminal.press(&["/exit"]);
    terminal.see("/exit");
    terminal.settle();
    terminal.enter_until("the menu of the exit", |screen| screen.contains("1. Exit and stop tasks"));
    terminal.enter_until("the exit is chosen", |screen| !screen.contains("1. Exit and stop tasks"));
    until("claude is gone", || world.processes("mcp-config").is_empty());
    drop(terminal);
    assert_eq!(world.names("pending"), ["db.json"], "the question stays open");
    world.answer("db", "lite");
    let terminal = begin(&world, &["--resume", &session]);
    terminal.see("woken and made");
    let told = world.api.turns().last().expect("a turn").model_text();
    assert_eq!((told.matches("User chose: lite").count(), world.launches().len()), (1, 0), "{told}");
}
