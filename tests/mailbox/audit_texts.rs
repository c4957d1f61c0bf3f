//! The audit trail tells of texts by reference: it names the round and the hashes of question and answer, and holds no text of either.

use std::fs;

use serde_json::{Value, json};
use uuid::Uuid;

use crate::support::{World, until};

/// A word that is in every text of the test, and must not be in the audit trail.
const SECRET: &str = "HUSH";

fn lines(world: &World, workflow: &str, event: &str) -> Vec<Value> {
    world.audited().into_iter().filter(|e| e["workflow_id"] == workflow && e["event"] == event).collect()
}

/// The only line of a workflow about an event.
#[track_caller]
fn line(world: &World, workflow: &str, event: &str) -> Value {
    let found = lines(world, workflow, event);
    assert_eq!(found.len(), 1, "{event} of {workflow}: {found:#?}");
    found[0].clone()
}

/// The name of an answer, made as docs/dev/protocol.md says ("What was shown").
fn answer_hash(question: &Value, outcome: &str, value: &Value, note: &Value) -> Value {
    let of: Uuid = question.as_str().unwrap().parse().unwrap();
    Uuid::new_v5(&of, json!([outcome, value, note]).to_string().as_bytes()).to_string().into()
}

#[track_caller]
fn no_line_holds_a_text(world: &World) {
    for entry in world.audited() {
        let entry = entry.to_string();
        assert!(!entry.contains(SECRET) && entry.len() < 1000, "{entry}");
    }
}

#[test]
fn the_lines_of_earlier_versions_stay_readable() {
    let old = r#"{"at":"2026-10-01T08:00:00.000Z","event":"answered","workflow_id":"w","question_id":"01900000-0000-7000-8000-000000000001","by":"ann","why":"ask-answer"}"#;
    let entry: askbox::mailbox::audit::Entry = serde_json::from_str(old).unwrap();
    assert_eq!((entry.question_hash, entry.answer_hash, entry.by.as_str()), (None, None, "ann"));
    assert_eq!(serde_json::to_string(&entry).unwrap(), old.replace(".000Z", "Z"));
}

mod promises {
    use super::*;

    #[test]
    fn a_line_of_the_audit_leads_to_the_texts_and_holds_none() {
        let world = World::at_home();
        let _watcher = world.watch();
        let ask = ["-o", "a=HUSH A", "-o", "HUSH-b", "--context", "HUSH context"];
        for workflow in ["yes", "no", "late"] {
            world.ok("ask-post", &[&["-w", workflow, "HUSH? Merge?"], &ask[..]].concat());
        }
        world.ok("ask-answer", &["yes", "--text", "HUSH, it is \"done\""]);
        world.ok("ask-answer", &["decline", "no", "--note", "HUSH, ask again"]);
        world.ok("ask-answer", &["cancel", "late"]);
        world.refused(4, "ask-answer late HUSH-b");
        for (workflow, event, outcome, value, note) in [
            ("yes", "answered", "answered", json!("HUSH, it is \"done\""), json!(null)),
            ("no", "declined", "declined", json!(null), json!("HUSH, ask again")),
            ("late", "late_answer", "answered", json!("HUSH-b"), json!(null)),
        ] {
            let (posted, answered) = (line(&world, workflow, "posted"), line(&world, workflow, event));
            let round = world.closed(workflow, if workflow == "late" { "withdrawn" } else { "delivered" }, 1).remove(0);
            assert_eq!((&posted["question_id"], &answered["question_id"]), (&round["question_id"], &round["question_id"]));
            let given = if workflow == "late" { &round["late_answers"][0] } else { &round["answer"] };
            assert_eq!((&given["value"], &given["note"]), (&value, &note), "{round:#}");
            assert_eq!(posted["question_hash"], answered["question_hash"]);
            if workflow != "late" {
                assert_eq!(posted["question_hash"], round["answer"]["question_hash"]);
            }
            assert_eq!(answered["answer_hash"], answer_hash(&posted["question_hash"], outcome, &value, &note), "{answered}");
        }
        no_line_holds_a_text(&world);
    }

    #[test]
    fn an_unusable_file_by_hand_is_named_in_the_audit() {
        let world = World::at_home();
        let _watcher = world.watch();
        let question = json!({"workflow_id": "wrong", "question": "HUSH?", "options": "HUSH or not"}).to_string();
        world.put("pending/wrong.json", question);
        let answered = json!({"workflow_id": "unfit", "question": "HUSH?", "type": "number", "answer": "HUSH 7"}).to_string();
        world.put("answered/unfit.json", answered);
        let taken = json!({"workflow_id": "taken", "question": "HUSH?", "answer": "HUSH 8"}).to_string();
        world.put("answered/taken.json", taken);
        until("both files are dealt with", || {
            !lines(&world, "wrong", "quarantined").is_empty() && !lines(&world, "unfit", "undone").is_empty()
        });
        assert!(
            fs::read_to_string(world.in_mailbox("quarantine/wrong.json.reason")).unwrap().contains(SECRET),
            "the reason quotes nothing"
        );
        assert_eq!(line(&world, "wrong", "quarantined")["why"], "pending/wrong.json: see quarantine/wrong.json.reason");
        assert_eq!(line(&world, "unfit", "undone")["why"], "moved to answered/, but its answer does not fit the question");
        let round = world.closed("taken", "delivered", 1).remove(0);
        let answered = line(&world, "taken", "answered");
        assert_eq!(answered["question_hash"], round["answer"]["question_hash"]);
        assert_eq!(answered["answer_hash"], answer_hash(&answered["question_hash"], "answered", &json!("HUSH 8"), &json!(null)));
        no_line_holds_a_text(&world);
    }

    #[test]
    fn an_agent_that_fails_with_the_answer_is_not_quoted() {
        let world = World::stepping("echo 'cannot do HUSH' >&2; exit 3");
        world.configure("attempts = 2");
        world.ok("ask-post", &["-w", "w", "Merge?"]);
        world.ok("ask-answer", &["w", "HUSH"]);
        let _watcher = world.start_watcher();
        let status = world.reaches("w", "parked");
        assert!(status["why"].as_str().unwrap().contains(SECRET), "{status}");
        until("it is in the audit trail", || !lines(&world, "w", "parked").is_empty());
        let round = status["question_id"].as_str().unwrap();
        for (event, attempt) in [("failed", 1), ("parked", 2)] {
            assert_eq!(line(&world, "w", event)["why"], format!("agent; the reason is in runs/w/{round}/{attempt}/run.json"));
        }
        no_line_holds_a_text(&world);
    }
}
