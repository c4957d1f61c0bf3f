//! The calls of a killed agent that its session lacks are told to the model, once. Calls that were not made are not told.

use super::*;
use crate::support::kill;

const WORK: &str = "echo ran >> $AGENT_DIR/effects";

/// The calls that are told, by their commands.
fn calls_in(message: &str) -> Vec<&str> {
    let calls = message.lines().filter_map(|line| line.strip_prefix("> Bash"));
    calls.map(|line| line.split_once("\"command\":\"").unwrap().1.split_once('"').unwrap().0).collect()
}

#[test]
fn calls_that_a_killed_agent_had_not_written_are_told_once() {
    // The first attempt writes one call and loses the next. The second one writes that it was told, and loses another one.
    let world = world("", "");
    let first = json!([{"run": "echo a"}, {"run": "echo b"}, {"pause": "one"}]);
    let second = json!([{"forget_calls": true}, {"run": "echo c"}, {"pause": "two"}]);
    turns(&world, &[first, second, json!([{"pause": "three"}]), json!([{"say": "done"}])]);
    let _watcher = world.watch();
    world.ask_and_answer("acp-1");
    let agent = at(&world, "one");
    until("its work is on record", || types(&events(&world, "acp-1", 1)).iter().filter(|kind| **kind == "tool_result").count() == 2);
    let session = fs::read_dir(world.agent("sessions")).unwrap().next().unwrap().unwrap().path();
    let kept: String =
        fs::read_to_string(&session).unwrap().lines().filter(|line| !line.contains("echo b")).map(|l| format!("{l}\n")).collect();
    fs::write(&session, kept).unwrap();
    kill(agent);
    let agent = at(&world, "two");
    until("its work is on record", || types(&events(&world, "acp-1", 2)).contains(&"tool_result"));
    kill(agent);
    at(&world, "three");
    // Three times the same failure would park the round.
    world.processes("relaunch supervise").into_iter().for_each(kill);
    world.closed("acp-1", "delivered", 1);
    let told = told(&world);
    assert!(told[1..].iter().all(|told| told.contains("Continue where you left off") && !told.contains("User chose")), "{told:?}");
    let calls: Vec<_> = told[1..].iter().map(|told| calls_in(told)).collect();
    assert_eq!(calls, [vec!["echo b"], vec!["echo c"], vec![]], "{told:?}");
    assert!(told[1].contains("This session may lack these calls, or how they ended."), "{}", told[1]);
}

#[test]
fn a_call_that_was_cut_off_is_told_with_its_open_end() {
    let world = world("", "");
    turns(&world, &[json!([{"run": "echo ran >> $AGENT_DIR/effects; exec sleep 600"}]), json!([{"say": "done"}])]);
    let _watcher = world.watch();
    world.ask_and_answer("acp-1");
    until("its tool runs", || !lines(&world, "effects").is_empty());
    until("its call is on record", || types(&events(&world, "acp-1", 1)).contains(&"tool_call"));
    world.processes("acp.py").into_iter().for_each(kill);
    world.closed("acp-1", "delivered", 1);
    let told = told(&world);
    assert!(told[1].contains("> Bash, end not seen: ") && calls_in(&told[1]).len() == 1, "{}", told[1]);
}

#[test]
fn a_call_that_nobody_permitted_is_not_told_as_made() {
    // One call is refused. About the other one, a person is to decide when the supervisor is killed.
    let world = world("", "[approvals]\nrefuse = [\"Bash(touch:*)\"]");
    let refused = json!({"run": "touch $AGENT_DIR/refused", "ask": true});
    turns(&world, &[json!([{"forget_calls": true}, refused, {"run": WORK}, {"run": "true x", "ask": true}]), json!([{"say": "done"}])]);
    let _watcher = world.watch();
    world.ask_and_answer("acp-1");
    let asks = |question: &Value| !question["approval"].is_null();
    until("it asks for a permission", || {
        let pending = world.in_mailbox("pending/acp-1.json");
        pending.exists() && asks(&world.document("pending/acp-1.json"))
    });
    world.processes("relaunch supervise").into_iter().for_each(kill);
    until("the agent is gone", || world.processes("acp.py").is_empty());
    world.closed("acp-1", "delivered", 1);
    world.ok("ask-answer", &["acp-1", "once", "--round", &world.seen("acp-1")]);
    world.closed("acp-1", "delivered", 2);
    let told = told(&world);
    assert_eq!(calls_in(&told[1]), [WORK], "{}", told[1]);
    // The question about the call is a round too.
    let round = world.names("runs/acp-1").into_iter().find(|name| name.len() == 36).unwrap();
    let events = fs::read_to_string(world.in_mailbox(format!("runs/acp-1/{round}/1/events.jsonl"))).unwrap();
    let events = whole_lines(&events).map(|line| serde_json::from_str::<Value>(line).unwrap());
    let decisions: Vec<_> = events.filter_map(|event| event["decision"].as_str().map(str::to_owned)).collect();
    assert_eq!(decisions, ["deny", "wait"]);
}
