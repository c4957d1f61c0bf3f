//! Clients that know no tasks: they wait for a while, and are then told to end their turn.

use serde_json::{Value, json};

use super::client::{BOTH, Client, Era};
use crate::support::{World, approval_question, until};

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
fn the_same_words_from_a_new_process_take_the_waiting_answer() {
    for era in BOTH {
        let world = waiting("0s");
        let ask = || Client::of(&world, era).call("ask_user", which());
        assert!(ask().starts_with("QUESTION_POSTED:db\n"));
        // The checkpoint that the asker was told to save is no other question.
        world.ok("checkpoint", &["save", "db", "--step", "choose"]);
        world.sh("ask-answer db lite");
        let other = json!({"question": "Which database, now?", "workflow_id": "db"});
        let told = Client::of(&world, era).call("check_answer", json!({"workflow_id": "db"}));
        assert!(told.contains("call ask_user with workflow_id \"db\" and the same words"), "{told}");
        let mut later = Client::of(&world, era);
        let told = later.call("ask_user", which());
        assert!(told.starts_with("Your question \"Which database?\": User chose: lite"), "{told}");
        assert_eq!(world.closed("db", "delivered", 1)[0]["closed"]["by"], "askbox mcp");
        assert!(!is_waited_for(&world), "it was not asked again");
        // Other words are another question, and so are the same words once the answer is told.
        assert!(Client::of(&world, era).call("ask_user", other).starts_with("QUESTION_POSTED:db\n"));
        world.sh("ask-answer cancel db");
        assert!(ask().starts_with("QUESTION_POSTED:db\n"), "{era:?}");
    }
}

#[test]
fn the_same_words_of_two_processes_take_an_answer_once() {
    let world = waiting("0s");
    let mut clients: Vec<_> = (0..4).map(|_| Client::of(&world, Era::Of2026)).collect();
    clients[0].call("ask_user", which());
    world.sh("ask-answer db lite");
    let asked: Vec<_> = clients.iter_mut().map(|client| client.begin("ask_user", which())).collect();
    // The others are told that it is taken, or ask anew, or are refused because another one waits.
    let said: Vec<_> =
        clients.iter_mut().zip(asked).map(|(client, id)| client.reply_to(id)["result"]["content"][0]["text"].clone()).collect();
    let took = said.iter().filter(|said| said.as_str().is_some_and(|said| said.starts_with("Your question"))).count();
    assert_eq!(took, 1, "{said:#?}");
    // The round is closed once the reply is written.
    world.closed("db", "delivered", 1);
}

#[test]
fn two_questions_of_one_turn_wait_for_each_other() {
    let world = waiting("1m");
    let mut client = Client::of(&world, Era::Of2025);
    let first = client.begin("ask_user", which());
    until("the first question", || is_waited_for(&world));
    let second = client.begin("ask_user", json!({"question": "Which port?", "workflow_id": "db"}));
    let answered = |client: &mut Client, id, answer: &str| {
        world.sh(&format!("ask-answer db {answer}"));
        client.reply_to(id)["result"]["content"][0]["text"].as_str().unwrap().to_owned()
    };
    assert!(answered(&mut client, first, "lite").contains("User chose: lite"));
    until("the second question", || world.ok("ask-answer", &["show", "db"]).contains("Which port?") && is_waited_for(&world));
    assert!(answered(&mut client, second, "8080").contains("8080"));
    world.closed("db", "delivered", 2);
}

#[test]
fn an_answer_that_runs_already_is_not_taken_by_its_words() {
    let world = waiting("0s");
    Client::of(&world, Era::Of2026).call("ask_user", which());
    world.sh("ask-answer db lite; relaunch db");
    let again = Client::of(&world, Era::Of2026).call("ask_user", which());
    assert!(again.starts_with("QUESTION_POSTED:db\n"), "an agent has that answer, so this is another round: {again}");
}

#[test]
fn a_decision_about_a_tool_call_is_only_for_its_run() {
    let world = waiting("0s");
    let question = approval_question("docs", "May the agent call Bash?");
    std::fs::write(world.in_mailbox("pending/docs.json"), question.to_string()).expect("a question");
    let seen = world.json(world.in_mailbox("pending/docs.json"));
    world.sh(&format!("ask-answer docs once --round {}", world.seen("docs")));
    let mut client = Client::of(&world, Era::Of2026);
    let told = client.call("check_answer", json!({"workflow_id": "docs"}));
    assert!(told.starts_with("It was answered") && !told.contains("For your information"), "{told}");
    let options = seen["options"].as_object().expect("options").iter();
    let options: Vec<_> = options.map(|(key, description)| json!({"label": key, "description": description})).collect();
    let same = json!({"workflow_id": "docs", "question": seen["question"], "type": seen["type"], "free_text": false, "options": options});
    assert!(client.call("ask_user", same).starts_with("QUESTION_POSTED:docs\n"), "it is another question");
    assert!(world.rounds("closed", "docs").is_empty(), "its run still gets it");
}

#[test]
fn each_outcome_of_an_mcp_question_is_told_as_what_it_is() {
    for (script, expected) in [
        ("ask-answer decline db --note 'not mine'", &["The user declined to answer", "not mine"][..]),
        ("ask-answer ask-back db 'How many users?'", &["asks back", "How many users?", "call ask_user again with workflow_id \"db\""]),
        ("ask-answer db 'neither; ask Bob'", &["in their own words", "neither; ask Bob"]),
        ("ask-answer cancel db --why 'not needed'", &["Nobody answers this question: it was withdrawn: not needed.", "Do not guess"]),
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
    // Its reply shows that the server has read what came before.
    client.request("tools/list", json!({}));
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

mod promises {
    use super::*;

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
            assert!(
                said.starts_with("QUESTION_POSTED:db\n") && said.contains("save_checkpoint") && said.contains("no watcher runs"),
                "{said}"
            );
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
    fn the_asker_takes_an_untaken_answer_and_a_stranger_only_reads() {
        let world = waiting("0s");
        let mut asker = Client::of(&world, Era::Of2026);
        let mut other = Client::of(&world, Era::Of2025);
        asker.call("ask_user", which());
        let waits = asker.call("check_answer", json!({"workflow_id": "db"}));
        assert!(waits.starts_with("Nobody has answered yet: \"Which database?\""), "{waits}");
        world.sh("ask-answer db lite");
        let told = other.call("check_answer", json!({"workflow_id": "db"}));
        assert!(told.starts_with("It was answered by ann") && told.contains("So do nothing with it in their place"), "{told}");
        assert!(told.contains("User chose: lite"), "{told}");
        assert!(world.in_mailbox("answered/db.json").exists(), "a look by another process takes nothing");
        assert!(asker.call("check_answer", json!({"workflow_id": "db"})).contains("User chose: lite"));
        until("the round is closed", || world.only("closed", "db"));
        assert!(asker.call("check_answer", json!({"workflow_id": "db"})).contains("User chose: lite"), "a second look says the same");
        assert!(world.refused(4, "relaunch db").contains("nothing to run"));
    }
}
