//! A question may name any file as its checkpoint. Only a file that says that it is this workflow's is read, copied and allowed.

use std::fs;
use std::path::PathBuf;

use serde_json::json;

use crate::support::{World, until};

/// A file that some other program keeps: a JSON object, under a temporary folder, which says nothing of workflows.
fn secret(world: &World) -> PathBuf {
    let path = world.path(".credentials.json");
    fs::write(&path, r#"{"token": "sk-secret", "context": ["sk-secret"], "user_answer": "sk-secret"}"#).unwrap();
    path
}

/// Puts a question there.
fn ask_by_hand(world: &World, id: &str, checkpoint: &PathBuf) {
    let question = json!({"question": "Go on?", "workflow_id": id, "checkpoint": checkpoint});
    world.put(format!("pending/{id}.json"), question.to_string());
}

#[test]
fn the_doctor_names_a_question_whose_checkpoint_is_not_used() {
    let world = World::at_home();
    ask_by_hand(&world, "spy", &secret(&world));
    let found = world.run("askbox", &["doctor"]).words();
    assert!(found.contains("the relaunched agent will not find its state") && found.contains("does not say"), "{found}");
    assert!(!found.contains("sk-secret"), "{found}");
}

mod promises {
    use super::*;

    #[test]
    fn a_file_that_names_no_workflow_is_no_checkpoint() {
        let world = World::at_home();
        let secret = secret(&world);
        let watcher = world.watch();
        ask_by_hand(&world, "spy", &secret);
        watcher.says("asked     spy");
        let shown = world.ok("ask-answer", &["show", "spy"]);
        assert!(shown.contains("(not used: it does not say that it is this workflow's)"), "{shown}");
        let answered = world.run("ask-answer", &["spy", "yes"]);
        assert!(answered.status.success() && answered.stderr.contains("does not say"), "{}", answered.words());
        let told = world.told("spy", 1);
        assert!(told.contains("User chose: yes") && told.contains("not used, it does not say"), "{told}");
        world.closed("spy", "delivered", 1);
        let arguments = fs::read_to_string(world.agent("arguments.spy")).unwrap();
        assert!(!arguments.contains(".credentials.json"), "{arguments}");
        assert_eq!(world.names("checkpoints"), Vec::<String>::new());
        for text in [shown, answered.words(), told, watcher.log(), world.ok("relaunch", &["events", "spy"])] {
            assert!(!text.contains("sk-secret"), "{text}");
        }
    }

    #[test]
    fn ask_post_refuses_such_a_file_without_quoting_it() {
        let world = World::at_home();
        let path = secret(&world);
        for content in [fs::read_to_string(&path).unwrap(), r#"{"workflow_id": ["sk-secret"]}"#.into(), r#""sk-secret""#.into()] {
            fs::write(&path, content).unwrap();
            let posted = world.run("ask-post", &["-w", "spy", "Go on?", "-c", path.to_str().unwrap()]);
            assert_eq!(posted.status.code(), Some(5), "{}", posted.words());
            assert!(posted.stderr.contains("does not say that this is the checkpoint of spy"), "{}", posted.words());
            assert!(posted.stderr.contains(r#"write "workflow_id": "spy" into it"#), "{}", posted.words());
            assert!(!posted.words().contains("sk-secret"), "{}", posted.words());
        }
        assert_eq!((world.names("pending"), world.names("checkpoints")), (vec![], vec![]));
        fs::write(&path, r#"{"workflow_id": "spy", "current_step": "one"}"#).unwrap();
        world.ok("ask-post", &["-w", "spy", "Go on?", "-c", path.to_str().unwrap()]);
        assert_eq!(world.document("checkpoints/spy.json")["current_step"], "one");
    }

    #[test]
    fn an_answer_in_a_file_that_names_no_workflow_is_none() {
        let world = World::at_home();
        let secret = secret(&world);
        let watcher = world.watch();
        ask_by_hand(&world, "spy", &secret);
        watcher.says("asked     spy");
        let written = world.in_mailbox("pending/spy.json").metadata().unwrap().modified().unwrap();
        until("the file is younger than the question", || {
            fs::write(&secret, fs::read(&secret).unwrap()).unwrap();
            secret.metadata().unwrap().modified().unwrap() > written
        });
        fs::rename(world.in_mailbox("pending/spy.json"), world.in_mailbox("answered/spy.json")).unwrap();
        until("it is moved back", || world.audit("spy").contains(&"undone".to_owned()));
        let undone = world.audited().into_iter().find(|e| e["event"] == "undone").unwrap();
        assert!(undone["why"].as_str().is_some_and(|why| why.contains("does not say")), "{undone}");
        assert!(world.in_mailbox("pending/spy.json").exists() && world.launches_of("spy").is_empty());
    }
}
