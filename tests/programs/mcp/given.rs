//! An answer that was given counts as delivered once the session's transcript shows it. Here a shell is called `claude`, and the test writes
//! the transcript.

use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use super::client::{Client, Era, words};
use crate::support::{Watcher, World, until};

const SESSION: &str = "5f0c1d2e-0000-4000-8000-00000000000a";

/// The questions of a session, with a watcher.
struct Scene {
    world: World,
    _watcher: Watcher,
    transcript: PathBuf,
}

impl Scene {
    fn new() -> Self {
        let world = World::new().with_scripted_agent();
        world.sh("ask-post -w before Begin? 2>/dev/null && ask-answer cancel before");
        world.sh("cp \"$(readlink -f /bin/sh)\" claude && mkdir -p ~/.claude/projects/p");
        let transcript = world.home().join(".claude/projects/p").join(format!("{SESSION}.jsonl"));
        std::fs::write(&transcript, "{\"type\":\"user\",\"message\":{\"content\":\"Do it.\"}}\n").expect("a transcript");
        let _watcher = world.watch();
        Self { world, _watcher, transcript }
    }

    /// The server of a process of the session.
    fn client(&self, tasks: bool) -> Client {
        let mut command: Command = self.world.any_command(self.world.work().join("claude"));
        command.args(["-c", "askbox mcp; :"]).env("CLAUDE_CODE_SESSION_ID", SESSION).env("PATH", self.world.path_with_programs());
        let capabilities = if tasks { json!({"extensions": {"io.modelcontextprotocol/tasks": {}}}) } else { json!({}) };
        Client::start(&mut command, Era::Of2026, capabilities)
    }

    /// Adds a line to the transcript.
    fn shows(&self, entry: &Value) {
        let before = std::fs::read_to_string(&self.transcript).expect("readable");
        std::fs::write(&self.transcript, format!("{before}{entry}\n")).expect("one more line");
    }

    fn shows_notice(&self, task: &str) {
        let head = format!("<task-notification>\n<status>completed</status>\n<summary>MCP task {task} completed.</summary>\n");
        self.shows(&json!({"type": "user", "message": {"content": format!("{head}<result>\nlite\n</result>\n</task-notification>")}}));
    }

    fn is_given(&self) -> bool {
        self.world.names("running").iter().any(|name| name.starts_with("db.")) && self.world.rounds("closed", "db").is_empty()
    }
}

fn which() -> Value {
    json!({"question": "Which database?", "workflow_id": "db"})
}

fn ask(client: &mut Client) -> String {
    let asked = client.begin("ask_user", which());
    client.reply_to(asked)["result"]["taskId"].as_str().expect("a task").to_owned()
}

/// The words of a task, which has to be completed.
#[track_caller]
fn told(reply: &Value) -> String {
    assert_eq!(reply["result"]["status"], "completed", "{reply}");
    reply["result"]["result"]["content"][0]["text"].as_str().expect("words").to_owned()
}

#[track_caller]
fn look(client: &mut Client, task: &str) -> String {
    told(&client.request("tasks/get", json!({"taskId": task})))
}

#[test]
fn a_given_answer_of_a_task_is_told_again_until_it_is_shown() {
    let scene = Scene::new();
    let mut client = scene.client(true);
    let task = ask(&mut client);
    scene.world.sh("ask-answer db lite");
    let said = look(&mut client, &task);
    assert!(said.contains("User chose: lite"), "{said}");
    assert_eq!((look(&mut client, &task), ask(&mut client)), (said.clone(), task.clone()));
    let mut later = scene.client(true);
    assert_eq!((look(&mut later, &task), scene.is_given()), (said.clone(), true));
    let read = Client::of(&scene.world, Era::Of2026).call("check_answer", json!({"workflow_id": "db"}));
    assert!(read.starts_with("Its asker is given this answer") && read.contains("lite"), "{read}");
    scene.shows_notice(&task);
    assert_eq!(scene.world.closed("db", "delivered", 1)[0]["closed"]["by"], "its asker");
    assert_eq!((look(&mut later, &task), scene.world.launches_of("db").len()), (said, 0));
    assert_ne!(ask(&mut client), task, "once the answer is shown, the same words are another question");
}

#[test]
fn a_later_process_of_the_session_takes_an_unheard_answer() {
    let scene = Scene::new();
    let mut client = scene.client(true);
    let task = ask(&mut client);
    scene.world.sh("ask-answer db lite");
    let said = look(&mut client, &task);
    drop(client);
    let mut later = scene.client(true);
    assert_eq!(look(&mut later, &task), said);
    scene.shows_notice(&task);
    scene.world.closed("db", "delivered", 1);
    assert_eq!(scene.world.launches_of("db").len(), 0);
}

#[test]
fn the_same_words_while_an_answer_is_given_are_told_the_answer() {
    let scene = Scene::new();
    let mut client = scene.client(true);
    let task = ask(&mut client);
    scene.world.sh("ask-answer db lite");
    look(&mut client, &task);
    let told = scene.client(false).call("ask_user", which());
    assert!(told.starts_with("Your question") && told.contains("User chose: lite"), "{told}");
    assert_eq!((look(&mut client, &task), scene.world.names("pending").len()), (told, 0), "nothing is asked again");
}

#[test]
fn a_waiting_calls_answer_that_was_not_shown_starts_an_agent() {
    let scene = Scene::new();
    for (n, is_shown) in [(1, false), (2, true)] {
        let mut client = scene.client(false);
        let id = format!("db-{n}");
        let params = json!({"name": "ask_user", "arguments": {"question": "Which?", "workflow_id": id}});
        let call = client.send_with("tools/call", params, &json!({"claudecode/toolUseId": format!("toolu_{n}")}));
        until("the question", || scene.world.in_mailbox(format!("pending/{id}.json")).exists());
        scene.world.sh(&format!("ask-answer {id} lite"));
        assert!(words(&client.reply_to(call)).contains("User chose: lite"));
        // The result of another call is not this one's.
        for result in ["toolu_0", "toolu_2"].into_iter().take(n) {
            let block = json!({"type": "tool_result", "tool_use_id": result, "content": "x"});
            scene.shows(&json!({"type": "user", "timestamp": "2099-01-01T00:00:00Z", "message": {"content": [block]}}));
        }
        drop(client);
        scene.world.reaches(&id, "delivered");
        assert_eq!(scene.world.launches_of(&id).len(), usize::from(!is_shown), "{id}");
    }
}

mod promises {
    use super::*;

    #[test]
    fn a_finished_task_that_is_polled_at_once_stays_finished() {
        let world = World::new().with_scripted_agent();
        let capabilities = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
        let mut client = Client::start(world.command("askbox").arg("mcp"), Era::Of2026, capabilities);
        for n in 1..=10 {
            let task = ask(&mut client);
            world.sh("ask-answer db lite");
            let polls: Vec<u64> = (0..4).map(|_| client.send("tasks/get", json!({"taskId": task}))).collect();
            let said: Vec<String> = polls.into_iter().map(|poll| told(&client.reply_to(poll))).collect();
            assert!(said.iter().all(|words| words == &said[0]) && said[0].contains("User chose: lite"), "{said:#?}");
            world.closed("db", "delivered", n);
        }
    }

    #[test]
    fn a_fetched_answer_that_was_not_shown_starts_an_agent_once() {
        let scene = Scene::new();
        let mut client = scene.client(true);
        let task = ask(&mut client);
        scene.world.sh("ask-answer db lite");
        look(&mut client, &task);
        until("the answer is given", || scene.is_given());
        drop(client);
        scene.world.reaches("db", "delivered");
        assert_eq!(scene.world.launches_of("db").len(), 1);
        let said = look(&mut scene.client(true), &task);
        assert!(said.starts_with("An agent was started with this answer") && said.contains("User chose: lite"), "{said}");
    }
}
