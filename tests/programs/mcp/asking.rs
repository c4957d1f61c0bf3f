//! Clients that know no tasks: they wait for a while, and are then told to end their turn.

use serde_json::{Value, json};

use super::client::{BOTH, Client, Era};
use crate::support::{World, until};

fn which() -> Value {
    json!({"question": "Which database?", "workflow_id": "db", "options": [{"label": "pg", "description": "Postgres"}, {"label": "lite"}]})
}

/// A world whose calls wait this long.
fn waiting(wait: &str) -> World {
    let world = World::new().with_scripted_agent();
    world.configure(&format!("[mcp]\nwait = \"{wait}\""));
    // A watcher waits for an empty folder to become a mailbox.
    world.sh("ask-post -w before Begin? 2>/dev/null && ask-answer cancel before");
    world
}

fn is_waited_for(world: &World) -> bool {
    world.in_mailbox("pending/db.json").exists()
}

#[test]
fn an_mcp_answer_in_time_is_the_calls_result() {
    for era in BOTH {
        let world = waiting("10m");
        let watcher = world.watch();
        let mut client = Client::of(&world, era);
        let asked = client.begin("ask_user", which());
        until("the question", || is_waited_for(&world));
        world.sh("ask-answer db PG --note 'version 16'");
        let said = client.said(asked);
        assert!(said.contains("User chose: pg (Postgres)") && said.contains("The user added: version 16"), "{era:?}: {said}");
        assert!(said.contains("answered by ann through ask-answer (") && said.contains("permits no tool call"), "{said}");
        let closed = until("the round is closed", || world.only("closed", "db"));
        assert_eq!(world.json(closed)["closed"]["by"], "askbox mcp");
        // The watcher has seen every file event by the time that it has launched another agent.
        world.sh("ask-post -w later Now? 2>/dev/null && ask-answer later yes");
        world.reaches("later", "delivered");
        assert_eq!(world.launches_of("db"), [""; 0]);
        drop(watcher);
    }
}

#[test]
fn without_an_answer_the_asker_saves_and_an_agent_goes_on() {
    for era in BOTH {
        let world = waiting("0s");
        let mut client = Client::of(&world, era);
        let said = client.call("ask_user", which());
        assert!(said.starts_with("QUESTION_POSTED:db\n") && said.contains("save_checkpoint") && said.contains("No watcher runs"), "{said}");
        let _watcher = world.watch();
        let again = client.call("ask_user", which());
        assert!(again.starts_with("QUESTION_POSTED:db\n") && again.contains("an agent is started"), "{again}");
        assert_eq!(world.names("pending").len(), 1, "the same question again is the same question");
        client.call("save_checkpoint", json!({"workflow_id": "db", "checkpoint": {"next_action": "make the tables"}}));
        world.sh("ask-answer db lite");
        world.reaches("db", "delivered");
        let told = client.call("check_answer", json!({"workflow_id": "db"}));
        assert!(told.starts_with("An agent was started with this answer") && told.contains("User chose: lite"), "{told}");
    }
}

#[test]
fn the_asker_takes_an_untaken_answer_and_a_stranger_does_not() {
    let world = waiting("0s");
    let mut asker = Client::of(&world, Era::Of2026);
    let mut other = Client::of(&world, Era::Of2025);
    asker.call("ask_user", which());
    let waits = asker.call("check_answer", json!({"workflow_id": "db"}));
    assert!(waits.starts_with("Nobody has answered yet: \"Which database?\""), "{waits}");
    world.sh("ask-answer db lite");
    let told = other.call("check_answer", json!({"workflow_id": "db"}));
    assert!(told.starts_with("It was answered by ann") && !told.contains("lite"), "{told}");
    assert!(world.in_mailbox("answered/db.json").exists(), "a look by another process takes nothing");
    assert!(asker.call("check_answer", json!({"workflow_id": "db"})).contains("User chose: lite"));
    until("the round is closed", || world.only("closed", "db"));
    assert!(asker.call("check_answer", json!({"workflow_id": "db"})).contains("User chose: lite"), "a second look says the same");
    assert!(world.refused(4, "relaunch db").contains("nothing to run"));
}

#[test]
fn each_outcome_of_an_mcp_question_is_told_as_what_it_is() {
    for (script, expected) in [
        ("ask-answer decline db --note 'not mine'", &["The user declined to answer", "not mine"][..]),
        ("ask-answer ask-back db 'How many users?'", &["asks back", "How many users?", "call ask_user again with workflow_id \"db\""]),
        ("ask-answer db 'neither; ask Bob'", &["in their own words", "neither; ask Bob"]),
        ("ask-answer cancel db --why 'not needed'", &["This question was withdrawn (not needed)", "Do not guess"]),
    ] {
        let world = waiting("10m");
        let mut client = Client::of(&world, Era::Of2026);
        let asked = client.begin("ask_user", which());
        until("the question", || is_waited_for(&world));
        world.sh(script);
        let said = client.said(asked);
        for words in expected {
            assert!(said.contains(words), "{script}: {words} is missing: {said}");
        }
    }
}

#[test]
fn several_questions_are_one_round_and_unnamed_ones_too() {
    let world = waiting("0s");
    let mut client = Client::of(&world, Era::Of2026);
    let questions = json!({"questions": [{"question": "Which name?", "header": "Name"}, {"question": "Which days?", "multiSelect": true,
        "options": [{"label": "Mon"}, {"label": "Tue"}]}]});
    let first = client.call("ask_user", questions.clone());
    assert_eq!(client.call("ask_user", questions), first);
    let other = client.call("ask_user", json!({"question": "And this?"}));
    assert_ne!(other.lines().next(), first.lines().next(), "another question has a workflow of its own");
    let id = first.lines().next().and_then(|line| line.strip_prefix("QUESTION_POSTED:")).expect("an id");
    world.sh(&format!("ask-answer {id} q1=box q2=Mon,Tue"));
    let told = client.call("check_answer", json!({"workflow_id": id}));
    assert!(told.contains("- Which name? (q1): box") && told.contains("(q2): Mon, Tue"), "{told}");
}

#[test]
fn a_call_that_the_client_gives_up_leaves_the_answer() {
    let world = waiting("10m");
    let _watcher = world.watch();
    let mut client = Client::of(&world, Era::Of2025);
    let asked = client.begin("ask_user", which());
    until("the question", || is_waited_for(&world));
    client.write(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": asked, "reason": "tired"}}));
    world.sh("ask-answer db pg");
    world.reaches("db", "delivered");
    assert_eq!(world.launches_of("db").len(), 1);
}

#[test]
fn a_server_that_dies_while_it_waits_leaves_the_answer() {
    let world = waiting("10m");
    let _watcher = world.watch();
    let mut client = Client::of(&world, Era::Of2026);
    client.begin("ask_user", which());
    until("the question", || is_waited_for(&world));
    client.process.kill();
    world.sh("ask-answer db pg");
    assert_eq!(world.reaches("db", "delivered")["attempt"], 1);
}

#[test]
fn a_client_that_goes_away_ends_the_server() {
    let world = waiting("10m");
    let mut client = Client::of(&world, Era::Of2026);
    client.begin("ask_user", which());
    until("the question", || is_waited_for(&world));
    client.close();
}
