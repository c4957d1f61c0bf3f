//! The other tools, and what the operator permits.

use serde_json::{Value, json};

use super::client::{BOTH, Client, Era};
use crate::support::{World, approval_question};

fn tools(client: &mut Client) -> Vec<String> {
    let listed = client.request("tools/list", json!({}));
    let tools = listed["result"]["tools"].as_array().expect("tools");
    assert!(tools.iter().all(|tool| tool["inputSchema"]["type"] == "object" && tool["description"].is_string()));
    tools.iter().map(|tool| tool["name"].as_str().expect("a name").to_owned()).collect()
}

#[test]
fn no_agent_permits_a_tool_call_even_where_agents_may_answer() {
    let world = World::new().with_scripted_agent();
    world.configure("[mcp]\nanswer = true");
    world.sh("ask-post -w other Begin? 2>/dev/null");
    let question = approval_question("w", "May the agent call Bash?");
    std::fs::write(world.in_mailbox("pending/w.json"), question.to_string()).expect("a question");
    let mut client = Client::of(&world, Era::Of2026);
    for value in ["once", "workflow", "yes"] {
        let said = client.refused("answer_question", json!({"workflow_id": "w", "answer": value}));
        assert!(said.contains("no agent may answer that"), "{said}");
    }
    assert!(world.in_mailbox("pending/w.json").exists());
}

#[test]
fn a_checkpoint_is_saved_and_loaded_with_its_answer() {
    let world = World::new().with_scripted_agent();
    let mut client = Client::of(&world, Era::Of2026);
    assert!(client.refused("load_checkpoint", json!({"workflow_id": "w"})).contains("no mailbox"));
    let state = json!({"current_step": "two", "next_action": "go on", "own": {"deep": [1, 2]}});
    let said = client.call("save_checkpoint", json!({"workflow_id": "w", "checkpoint": state}));
    assert_eq!(said, format!("saved: {}", world.in_mailbox("checkpoints/w.json").display()));
    world.sh("ask-post -w w 'Which?' && ask-answer w this");
    client.call("save_checkpoint", json!({"workflow_id": "w", "checkpoint": state}));
    let loaded: Value = serde_json::from_str(&client.call("load_checkpoint", json!({"workflow_id": "w"}))).expect("JSON");
    assert_eq!((&loaded["own"], &loaded["user_answer"], &loaded["workflow_id"]), (&state["own"], &json!("this"), &json!("w")));
    let foreign = json!({"workflow_id": "w", "checkpoint": {"workflow_id": "other"}});
    assert!(client.refused("save_checkpoint", foreign).contains("workflow_id"));
}

#[test]
fn the_questions_and_runs_are_told_and_a_run_is_stopped() {
    let world = World::stepping("work");
    let mut client = Client::of(&world, Era::Of2026);
    assert_eq!(client.call("list_questions", json!({})), "no question waits\n");
    assert_eq!(client.call("run_status", json!({})), "nothing is open\n");
    world.sh("ask-post -w w 'Which way?' -o left=Left -o right=Right 2>/dev/null");
    let listed = client.call("list_questions", json!({}));
    assert!(listed.starts_with("w: Which way? [left, right] ("), "{listed}");
    let status: Value = serde_json::from_str(&client.call("run_status", json!({"workflow_id": "w"}))).expect("JSON");
    assert_eq!(status["state"], "pending");
    assert!(client.refused("run_status", json!({"workflow_id": "nobody"})).contains("nothing is known of nobody"));
    assert!(client.refused("stop_run", json!({"workflow_id": "w"})).contains("hint: "));
}

mod promises {
    use super::*;

    #[test]
    fn agents_answer_only_where_the_operator_permits_it() {
        for era in BOTH {
            let world = World::new().with_scripted_agent();
            world.sh("ask-post -w w 'Which?' -o keep=Keep -o drop=Drop 2>/dev/null");
            let mut client = Client::of(&world, era);
            let names = ["ask_user", "check_answer", "save_checkpoint", "load_checkpoint", "list_questions", "run_status", "stop_run"];
            assert_eq!(tools(&mut client), names);
            let refused = client.begin("answer_question", json!({"workflow_id": "w", "answer": "keep"}));
            assert!(client.reply_to(refused)["error"]["message"].as_str().is_some_and(|m| m.contains("no tool answer_question")));
            assert!(world.in_mailbox("pending/w.json").exists());
            client.close();
            world.configure("[mcp]\nanswer = true");
            let mut client = Client::of(&world, era);
            assert_eq!(tools(&mut client).last().map(String::as_str), Some("answer_question"));
            assert!(
                client.refused("answer_question", json!({"workflow_id": "w", "answer": "kep"})).contains("keep"),
                "a near miss is no answer"
            );
            let late = json!({"workflow_id": "w", "answer": "keep", "question_id": "01920000-0000-7000-8000-000000000000"});
            assert!(client.refused("answer_question", late).contains("asks another question by now"));
            assert_eq!(client.call("answer_question", json!({"workflow_id": "w", "answer": "keep"})), "w: answered: keep");
            let answer = &world.json("m/answered/w.json")["answer"];
            assert_eq!((&answer["channel"], &answer["by"]), (&json!("mcp"), &json!("an agent of raw")));
            assert!(
                client.refused("answer_question", json!({"workflow_id": "w", "answer": "drop"})).contains("answered by an agent of raw")
            );
        }
    }
}
