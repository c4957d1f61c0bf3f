//! A post without askbox's programs: the programs read it as one of their own, and its writes have the order of the protocol.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::clients::client::Client;
use crate::support::{World, needs, output, strace};

/// Documents of every kind that such a post accepts.
fn documents() -> Vec<Value> {
    vec![
        json!({"workflow_id": "text", "question": "Wie groß? \"é\" \u{1} 🙂 \\", "context": "a\nb", "asked_by": "me", "priority": -3}),
        json!({"workflow_id": "choice", "question": "Which?", "options": [{"label": "10", "description": "ten", "preview": "x"}, "9"], "free_text": false}),
        json!({"workflow_id": "map", "question": "Which?", "options": {"b": "B", "a": null}, "type": "multi_choice", "remind_every": "1h 30m"}),
        json!({"workflow_id": "number", "question": "How many?", "type": "number", "range": {"min": 1, "max": 9.5, "step": 0.5, "unit": "GB"}}),
        json!({"workflow_id": "batch", "questions": [{"question": "A?", "header": "a", "multiSelect": true, "options": ["x"]}, {"id": "n", "question": "N?", "type": "yes_no"}]}),
        json!({"workflow_id": "dates", "question": "Now?", "expires_at": "2999-01-01T00:00:00.5+01:00", "on_expiry": "cancel", "later_field": {"kept": [1]}}),
        json!({"workflow_id": "a".repeat(128), "question": "?", "question_id": "019ab3c2-77aa-7c31-9b0e-5d2f6a1c8e44", "parent": "root"}),
    ]
}

fn is_read_by_the_programs(client: Client) {
    let world = World::new();
    let file = world.path("documents");
    fs::write(&file, documents().iter().map(|document| format!("{document}\n")).collect::<String>()).unwrap();
    let said = client.ok(&world, "plain_post", &[file.to_str().unwrap()]);
    assert_eq!(world.names(""), ["locks", "pending"], "no program was there");
    assert!(world.in_mailbox("locks/synced").exists());

    for (document, question_id) in documents().iter().zip(said.lines()) {
        let workflow = document["workflow_id"].as_str().unwrap();
        let path = world.in_mailbox(format!("pending/{workflow}.json"));
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let shown: Value = serde_json::from_str(&world.ok("ask-answer", &["show", workflow, "--json"])).unwrap();
        assert_eq!((&shown["state"], &shown["question_id"]), (&"pending".into(), &question_id.into()), "{shown}");
        for (name, value) in document.as_object().unwrap() {
            assert_eq!(shown["document"][name], *value, "{name}");
        }
        let mut same = document.clone();
        same.as_object_mut().unwrap().remove("question_id");
        let posted = world.run_with("ask-post", &["--file", "-", "--json"], same.to_string().as_bytes());
        let posted: Value = serde_json::from_str(&posted.stdout).unwrap();
        assert_eq!((&posted["repeated"], &posted["question_id"]), (&true.into(), &question_id.into()), "{posted}");
    }
    assert_eq!(world.ok("ask-answer", &["list", "--json"]).lines().count(), documents().len());
    let answered: Value = serde_json::from_str(&world.ok("ask-answer", &["number", "1.5", "--json"])).unwrap();
    assert_eq!(answered["value"], "1.5");
    let refused = world.run("ask-answer", &["choice", "eleven"]);
    assert_eq!(refused.code(), 5, "{}", refused.words());
}

#[test]
fn the_programs_read_a_post_of_python_alone() {
    needs!("python3");
    is_read_by_the_programs(Client::Python);
}

#[test]
fn the_programs_read_a_post_of_node_alone() {
    needs!("node");
    is_read_by_the_programs(Client::Node);
}

#[test]
fn a_post_of_a_client_alone_is_synced_in_order() {
    needs!("python3", "node", "strace");
    for client in [Client::Python, Client::Node] {
        let world = World::new();
        let (file, trace) = (world.path("documents"), world.path("trace"));
        fs::write(&file, format!("{}\n", json!({"workflow_id": "w", "question": "?"}))).unwrap();
        let words = strace(&["-f", "-y", "-o", trace.to_str().unwrap(), "-e", "trace=fsync,link,linkat,unlink,unlinkat"]);
        let script = client.script(&world, "plain_post");
        let mut command = world.any_command(&words[0]);
        let outcome = output(command.args(&words[1..]).args(client.words()).arg(script).arg(&file));
        assert!(outcome.status.success(), "{}", outcome.words());
        let pending = world.in_mailbox("pending");
        let of_the_question = |line: &&str| line.contains(pending.to_str().unwrap());
        let calls = fs::read_to_string(&trace).unwrap();
        let calls: Vec<_> = calls.lines().filter(of_the_question).collect();
        let kind = |line: &str| match line.split_once(' ').map(|(_, call)| call.trim_start()) {
            Some(call) if call.starts_with("fsync") && line.contains("/.tmp") => "sync the file",
            Some(call) if call.starts_with("fsync") => "sync the folder",
            Some(call) if call.starts_with("link") && call.contains("EEXIST") => "refused",
            Some(call) if call.starts_with("link") => "link",
            _ => "unlink",
        };
        // The second post finds the name taken.
        let expected = ["sync the file", "link", "unlink", "sync the folder", "sync the file", "refused", "unlink"];
        assert_eq!(calls.iter().map(|line| kind(line)).collect::<Vec<_>>(), expected, "{client:?}: {calls:#?}");
    }
}

#[test]
fn a_post_of_a_client_alone_keeps_the_trace_of_its_process() {
    needs!("python3", "node");
    let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    for client in [Client::Python, Client::Node] {
        let world = World::new();
        let own = json!({"traceparent": parent.replace("4bf9", "5bf9")});
        let documents = [json!({"workflow_id": "w", "question": "?"}), json!({"workflow_id": "own", "question": "?", "trace": own})];
        let file = world.path("documents");
        fs::write(&file, documents.iter().map(|document| format!("{document}\n")).collect::<String>()).unwrap();
        let script = client.script(&world, "plain_post");
        let post =
            |parent: &str| output(client.command(&world, &script).arg(&file).env("TRACEPARENT", parent).env("TRACESTATE", "rojo=1")).ok();
        post(parent);
        assert_eq!(world.document("pending/w.json")["trace"], json!({"traceparent": parent, "tracestate": "rojo=1"}), "{client:?}");
        assert_eq!(world.document("pending/own.json")["trace"], own, "{client:?}");
        for workflow in ["w", "own"] {
            world.ok("ask-answer", &["cancel", workflow]);
        }
        post(&parent.to_uppercase());
        assert!(world.document("pending/w.json").get("trace").is_none(), "{client:?}");
    }
}
