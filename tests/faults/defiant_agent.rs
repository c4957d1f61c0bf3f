//! An agent program that is told to end its turn for a question, and goes on. The question's answer must not wait for the limits of
//! the run.

use crate::support::{World, until};
use serde_json::{Value, json};

/// An agent that asks for a permission in its first launch, and then ignores every message. It does `MORE` before.
const DEFIANT: &str = r#"
if [ "$(grep -c '^start ' "$AGENT_DIR/log")" = 1 ]; then
  MORE
  call='{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"git push"}}'
  printf '{"type":"assistant","cwd":"/","message":{"content":[%s]}}\n' "$call" >>"$transcript"
  say "{\"type\":\"assistant\",\"message\":{\"content\":[$call]}}"
  say '{"type":"control_request","request_id":"r1","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":"git push"},"tool_use_id":"t1"}}'
  while IFS= read -r line; do log "told $line"; done
  while :; do sleep 0.1; done
fi
work
"#;

/// A world where the person answers once the agent was told to end its turn. Returns the notes and the last event of the first round.
#[track_caller]
fn answered_meanwhile(more: &str) -> (Vec<String>, Value) {
    let world = World::stepping(&DEFIANT.replace("MORE", more));
    world.configure("[limits]\nhold = '1s'\n");
    world.ok("ask-post", &["-w", "docs", "Merge?", "-o", "a=A"]);
    world.ok("ask-answer", &["docs", "a"]);
    let round = world.round("docs");
    let _watcher = world.start_watcher();
    until("the agent is told to end its turn", || world.log().iter().any(|l| l.starts_with("told ") && l.contains(r#""interrupt":true"#)));
    let shown = world.ok("ask-answer", &["show", "docs"]);
    let command = shown.lines().map(str::trim).find(|line| line.starts_with("ask-answer docs once --round ")).expect("a command to copy");
    world.sh(command);
    until("the next run has the answer", || world.logged("done ") == 1);
    until("it is delivered", || world.state("docs") == "delivered");
    assert_eq!(world.logged("violation"), 0);
    let file = |name: &str| std::fs::read_to_string(world.in_mailbox(format!("runs/docs/{round}/1/{name}"))).expect("a file");
    let record: Value = serde_json::from_str(&file("run.json")).expect("JSON");
    assert_eq!(record["state"], "asking", "{record}");
    let events: Vec<Value> = file("events.jsonl").lines().map(|line| serde_json::from_str(line).expect("an event")).collect();
    let notes = events.iter().filter(|e| e["type"] == "note").filter_map(|e| e["text"].as_str().map(str::to_owned)).collect();
    (notes, events.last().expect("an event").clone())
}

#[test]
fn an_agent_that_ignores_the_end_of_its_turn_is_ended() {
    for (more, last) in [("", "ladder: SIGTERM"), ("trap '' INT TERM", "ladder: the whole tree is killed")] {
        let (notes, event) = answered_meanwhile(more);
        let rungs: Vec<_> = notes.iter().filter(|note| note.starts_with("ladder: ")).collect();
        assert_eq!((rungs[0], *rungs.last().expect("a rung")), (&"ladder: in-band interrupt".to_owned(), &last.to_owned()), "{notes:?}");
        assert_eq!((&event["type"], &event["workflow_id"]), (&json!("question_posted"), &json!("docs")), "{event}");
    }
}
