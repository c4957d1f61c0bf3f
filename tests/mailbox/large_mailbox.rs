//! Lists and checks read one document at a time: what they need grows with the number of documents, not with their length.

use std::fs;

use serde_json::json;

use crate::support::World;

/// The questions, each nearly as long as a question may be. Held all at once, they do not fit into [`LIMIT`].
const QUESTIONS: usize = 45;

/// The memory that a program may map, in KiB. The debug build of `askbox` needs 62,000 of it to start, with all features.
const LIMIT: usize = 82_000;

#[test]
fn a_mailbox_of_large_questions_takes_little_memory() {
    let world = World::at_home();
    world.make_mailbox();
    let title = "t".repeat(1_000_000);
    for n in 0..QUESTIONS {
        let question = json!({"workflow_id": format!("w{n}"), "question": title, "priority": n, "timestamp": "2026-01-01T00:00:00Z"});
        fs::write(world.in_mailbox(format!("pending/w{n}.json")), question.to_string()).unwrap();
    }
    let limited = |command: &str| {
        let outcome = world.shell(&format!("ulimit -v {LIMIT}; {command}"));
        assert!(outcome.stderr.is_empty() && !outcome.stdout.is_empty(), "{command}: {} {}", outcome.status, outcome.stderr);
        outcome.stdout
    };
    let listed = limited("ask-answer list");
    assert!(listed.lines().nth(1).unwrap().starts_with(&format!("w{} ", QUESTIONS - 1)), "the largest priority is not first");
    let listed = limited("ask-answer list --json");
    let objects: Vec<serde_json::Value> = listed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((objects.len(), &objects[0]["title"]), (QUESTIONS, &json!(title)));
    for command in
        ["relaunch status", "relaunch status --json", "relaunch status --summary", "askbox tree", "askbox tree --json", "askbox doctor"]
    {
        limited(command);
    }
}
