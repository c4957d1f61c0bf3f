//! Clients that know tasks: the question is one whose state is the mailbox.

use serde_json::{Value, json};

use super::client::{BOTH, Client, Era};
use crate::support::World;

fn knows_tasks(world: &World, era: Era) -> Client {
    let capabilities = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
    Client::start(world.command("askbox").arg("mcp"), era, capabilities)
}

/// A mailbox with an agent that a watcher could start.
fn world() -> World {
    let world = World::new().with_scripted_agent();
    world.sh("ask-post -w before Begin? 2>/dev/null && ask-answer cancel before");
    world
}

fn ask(client: &mut Client) -> String {
    let asked = client.begin("ask_user", json!({"question": "Which database?", "workflow_id": "db"}));
    let task = client.reply_to(asked)["result"].clone();
    assert_eq!((&task["resultType"], &task["status"], &task["ttlMs"]), (&json!("task"), &json!("working"), &Value::Null), "{task}");
    assert_eq!(task["pollIntervalMs"], 2000);
    task["taskId"].as_str().expect("an id").to_owned()
}

fn look(client: &mut Client, task: &str) -> Value {
    let reply = client.request("tasks/get", json!({"taskId": task}));
    assert_eq!(reply["result"]["taskId"], task, "{reply}");
    reply["result"].clone()
}

#[track_caller]
fn told(client: &mut Client, task: &str) -> String {
    let result = look(client, task);
    assert_eq!(result["status"], "completed", "{result}");
    result["result"]["content"][0]["text"].as_str().expect("words").to_owned()
}

/// Returns once the watcher has seen everything that lies in the mailbox now.
#[track_caller]
fn watcher_has_looked(world: &World) {
    world.sh("ask-post -w later Now? 2>/dev/null && ask-answer later yes");
    world.reaches("later", "delivered");
}

#[test]
fn an_answer_of_a_lost_session_can_start_an_agent() {
    let world = world();
    let mut client = knows_tasks(&world, Era::Of2026);
    let task = ask(&mut client);
    world.sh("ask-answer db pg");
    world.sh("relaunch db");
    assert_eq!((world.state("db"), world.launches_of("db").len()), ("delivered".into(), 1));
    let said = told(&mut client, &task);
    assert!(said.starts_with("An agent was started with this answer") && said.contains("do not do it a second time"), "{said}");
}

#[test]
fn the_doctor_names_an_answer_that_its_session_has_not_taken() {
    let world = world();
    let mut client = knows_tasks(&world, Era::Of2026);
    ask(&mut client);
    world.sh("ask-answer db pg");
    let path = world.in_mailbox("answered/db.json");
    let mut document = world.json(&path);
    document["answer"]["at"] = "2026-01-01T00:00:00Z".into();
    std::fs::write(&path, document.to_string()).expect("an older answer");
    let said = world.shell("askbox doctor db").words();
    assert!(said.contains("has not taken the answer") && said.contains("relaunch -- db"), "{said}");
}

#[test]
fn a_stopped_task_leaves_its_question_and_its_answer() {
    for era in BOTH {
        let world = world();
        let mut client = knows_tasks(&world, era);
        let task = ask(&mut client);
        assert!(client.request("tasks/cancel", json!({"taskId": task})).get("error").is_none());
        assert_eq!(look(&mut client, &task)["status"], "working");
        world.sh("ask-answer db pg");
        assert!(client.request("tasks/cancel", json!({"taskId": task})).get("error").is_none());
        assert!(told(&mut client, &task).contains("User chose: pg"));
    }
}

#[test]
fn withdrawn_expired_and_taken_back_are_told_as_what_they_are() {
    let world = world();
    let mut client = knows_tasks(&world, Era::Of2026);
    let task = ask(&mut client);
    world.sh("ask-answer db pg && ask-answer undo db");
    assert_eq!(look(&mut client, &task)["status"], "working", "the answer was taken back before anybody had it");
    world.sh("ask-answer cancel db --why 'not needed'");
    assert!(told(&mut client, &task).starts_with("Nobody answers this question: it was withdrawn: not needed."));
    let task = ask(&mut client);
    world.sh("ask-answer ask-back db 'For how many users?'");
    let said = told(&mut client, &task);
    assert!(said.contains("asks back") && said.contains("For how many users?"), "{said}");
}

#[test]
fn a_form_is_withdrawn_once_somebody_else_has_answered() {
    for era in BOTH {
        let world = world();
        world.configure("[mcp]\nanswer = true");
        let capabilities = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}, "elicitation": {"form": {}}});
        let mut client = Client::start(world.command("askbox").arg("mcp"), era, capabilities);
        let questions =
            json!([{"id": "db", "question": "Which?", "options": ["pg", "lite"]}, {"id": "n", "question": "How many?", "type": "number"}]);
        let asked = client.begin("ask_user", json!({"questions": questions, "workflow_id": "db"}));
        let task = client.reply_to(asked)["result"]["taskId"].as_str().expect("an id").to_owned();
        let shown = look(&mut client, &task);
        assert_eq!(shown["status"], "input_required", "{shown}");
        let round = world.round("db");
        let form = &shown["inputRequests"][&round];
        let fields = &form["params"]["requestedSchema"]["properties"];
        assert_eq!(
            (&form["method"], &fields["db"]["oneOf"][1]["const"], &fields["n"]["type"]),
            (&json!("elicitation/create"), &json!("lite"), &json!("number")),
            "{form}"
        );
        let reply = |content: Value| json!({"taskId": task, "inputResponses": {&round: {"action": "accept", "content": content}}});
        let wrong = client.request("tasks/update", reply(json!({"db": "mongo", "n": "many"})));
        assert_eq!(wrong["error"]["code"], -32602, "{wrong}");
        assert!(client.request("tasks/update", reply(json!({"db": "lite", "n": 3}))).get("error").is_none());
        let said = told(&mut client, &task);
        assert!(said.contains("lite") && said.contains('3'), "{said}");
        let places = ["running", "closed"].map(|folder| world.in_mailbox(format!("{folder}/db.{round}.json")));
        assert_eq!(world.json(places.iter().find(|place| place.exists()).expect("the round"))["answer"]["through"], "mcp");

        // A client without a user declines by itself. That is no answer, and the form is not shown again.
        let task = ask(&mut client);
        let round = world.round("db");
        let left = json!({"taskId": task, "inputResponses": {&round: {"action": "decline"}}});
        assert!(client.request("tasks/update", left).get("error").is_none());
        assert_eq!((look(&mut client, &task)["status"].clone(), world.state("db")), (json!("working"), "pending".into()));
        world.sh("ask-answer db pg");
        let late = json!({"taskId": task, "inputResponses": {&round: {"action": "accept", "content": {"answer": "lite"}}}});
        assert_eq!(client.request("tasks/update", late)["error"]["code"], -32602);
        assert!(told(&mut client, &task).contains("User chose: pg"));
    }
}

#[test]
fn a_client_that_may_not_answer_is_shown_no_form() {
    let world = world();
    let capabilities = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}, "elicitation": {}});
    let mut client = Client::start(world.command("askbox").arg("mcp"), Era::Of2026, capabilities);
    let task = ask(&mut client);
    assert_eq!(look(&mut client, &task)["status"], "working");
    let reply = json!({"taskId": task, "inputResponses": {world.round("db"): {"action": "accept", "content": {"answer": "pg"}}}});
    let refused = client.request("tasks/update", reply);
    assert!(refused["error"]["message"].as_str().is_some_and(|words| words.contains("may not answer")), "{refused}");
    assert_eq!(world.state("db"), "pending");
}

#[test]
fn what_is_no_task_is_refused_and_some_clients_get_none() {
    let world = world();
    let mut client = knows_tasks(&world, Era::Of2026);
    let foreign = ["786512e2-9e0d-44bd-8f29-789f320fe840", "task_01H8XGJWBWBAQ4", "12"];
    let long = "x".repeat(100_000);
    let ours = ["../../etc/passwd.01920000-0000-7000-8000-000000000000", "db.01920000-0000-7000-8000-000000000000"];
    for wrong in ["", "x", &long].into_iter().chain(foreign).chain(ours) {
        for method in ["tasks/get", "tasks/cancel"] {
            let reply = client.request(method, json!({"taskId": wrong}));
            assert_eq!(reply["error"]["code"], -32602, "{method} {reply}");
            assert!(reply.to_string().len() < 1000);
        }
    }
    // A client's library may lose the id, or write it in its own way.
    for params in [json!({}), json!({"taskId": 7}), json!({"taskId": null}), json!({"task": {"id": "x"}})] {
        for method in ["tasks/get", "tasks/cancel"] {
            let reply = client.request(method, params.clone());
            assert_eq!(reply["error"]["code"], -32602, "{method} {params}: {reply}");
            assert!(reply["error"]["message"].as_str().is_some_and(|words| words.contains("taskId")), "{reply}");
        }
    }
    assert_eq!(client.request("tasks/result", json!({"taskId": "x"}))["error"]["code"], -32601);
    let task = ask(&mut client);
    let mut other = Client::of(&world, Era::Of2026);
    assert_eq!(other.request("tasks/get", json!({"taskId": task}))["error"]["code"], -32021);
}

mod promises {
    use super::*;

    #[test]
    fn any_later_server_knows_the_task_and_no_agent_is_started() {
        for era in BOTH {
            let world = world();
            let mut client = knows_tasks(&world, era);
            let task = ask(&mut client);
            assert_eq!(task, format!("db.{}", world.round("db")));
            assert_eq!(look(&mut client, &task)["status"], "working");
            client.process.kill();
            let watcher = world.watch();
            world.sh("ask-answer db pg");
            watcher_has_looked(&world);
            let status = world.status("db");
            assert_eq!((&status["state"], world.launches_of("db").len()), (&json!("answered"), 0), "{status}");
            assert!(status["why"].as_str().is_some_and(|why| why.contains("the session that asked takes the answer itself")), "{status}");
            let mut later = knows_tasks(&world, era);
            let said = told(&mut later, &task);
            assert!(
                said.contains("Your question \"Which database?\": User chose: pg") && said.contains("answered by ann through ask-answer"),
                "{said}"
            );
            assert_eq!(world.closed("db", "delivered", 1)[0]["closed"]["by"], "askbox mcp");
            assert_eq!(told(&mut knows_tasks(&world, era), &task), said, "a client that died before it had it, asks again");
            let history = world.ok("askbox", &["history", "db"]);
            assert!(history.contains("by the session that asked") && !history.contains("that waited"), "{history}");
            drop(watcher);
        }
    }

    #[test]
    fn the_same_words_of_a_later_process_are_the_same_task() {
        let world = world();
        let task = ask(&mut knows_tasks(&world, Era::Of2026));
        world.sh("ask-answer db pg");
        let mut later = knows_tasks(&world, Era::Of2026);
        assert_eq!(ask(&mut later), task);
        assert!(told(&mut later, &task).contains("User chose: pg"));
        assert_ne!(ask(&mut later), task, "once the answer is told, the same words are another question");
    }
}
