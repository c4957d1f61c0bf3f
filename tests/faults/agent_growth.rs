//! An agent that wants the supervisor's memory or its disk. Every collection that an agent can fill has a bound, and no bound loses what
//! matters: the result, the receipt, the cost, the question, the stop.

use std::path::PathBuf;

use serde_json::Value;

use crate::support::{Running, World, until};

/// More memory than a supervisor may ever take, in KiB, without the pages of its unoptimized program and libraries.
const SMALL: u64 = 12 << 10;
/// The bound of `events.jsonl`, with the room for what is important, and one line.
const EVENTS: u64 = (72 << 20) + (256 << 10);

/// A run in the foreground of an agent that has gone as far as the step `full`.
fn at_its_fullest(body: &str) -> (World, Running, u64) {
    let world = World::stepping(body);
    world.hold("full");
    std::fs::write(world.path("prompt.md"), "Do it.").expect("prompt");
    let mut command = world.command("relaunch");
    let run = command.args(["run", "-w", "docs", "prompt.md"]).stdout(std::process::Stdio::null()).spawn().expect("relaunch");
    let mut run = Running(run);
    until("the agent has said it all", || world.is_held("full") || run.has_ended());
    let [_, supervisor] = world.held("full");
    let status = std::fs::read_to_string(format!("/proc/{supervisor}/status")).expect("it lives");
    let of = |field: &str| {
        let value = status.lines().find_map(|line| line.strip_prefix(field)).expect("a field of the status");
        value.trim().trim_end_matches(" kB").parse::<u64>().expect("a number")
    };
    (world, run, of("VmHWM:").saturating_sub(of("RssFile:")))
}

/// Repeats a line of the stream with a text of 60 KB, `TEXT`, and a number, `NUMBER`.
fn repeated(times: u32, line: &str) -> String {
    let line = line.replace('"', "\\\"").replace("TEXT", "\" t \"").replace("NUMBER", "\" i \"");
    format!(
        "text=$(head -c 60000 /dev/zero | tr '\\0' z)\nawk -v t=\"$text\" 'BEGIN {{ for (i = 0; i < {times}; i++) print \"{line}\" }}'\n"
    )
}

fn events(world: &World) -> Vec<Value> {
    let text = std::fs::read_to_string(file(world, "events.jsonl")).expect("events");
    text.lines().map(|line| serde_json::from_str(line).expect("an event")).collect()
}

/// A file of the only run.
fn file(world: &World, name: &str) -> PathBuf {
    let [round] = &world.names("runs/docs")[..] else { panic!("not one run") };
    world.in_mailbox(format!("runs/docs/{round}/1/{name}"))
}

fn notes(events: &[Value]) -> Vec<&str> {
    events.iter().filter(|e| e["type"] == "note").filter_map(|e| e["text"].as_str()).collect()
}

const REQUEST: &str = r#"{"type":"control_request","request_id":"NUMBER","request":{"subtype":"can_use_tool","tool_name":"Bash","description":"TEXT","input":{}}}"#;

#[test]
fn forty_thousand_permission_requests_take_no_memory() {
    let body = format!("{}step full\nresult done\nlog \"done $ASKBOX_RUN\"", repeated(40_000, &REQUEST.replace("TEXT", "x")));
    let (world, mut run, peak) = at_its_fullest(&body);
    eprintln!("40,000 unanswered requests: the supervisor took {peak} KiB at most");
    assert!(peak < SMALL, "{peak} KiB");
    world.let_go("full");
    assert!(run.wait().success());
    assert_eq!(world.state("docs"), "delivered");
    let events = events(&world);
    assert_eq!(notes(&events).iter().filter(|note| note.contains("does not read the replies")).count(), 1, "{:?}", notes(&events));
}

#[test]
fn requests_with_ids_of_sixty_kilobytes_take_no_memory() {
    let body =
        format!("trap '' INT TERM\n{}step full\nwhile :; do sleep 0.1; done", repeated(2000, &REQUEST.replace("NUMBER", "TEXT NUMBER")));
    let (world, mut run, peak) = at_its_fullest(&body);
    eprintln!("2,000 requests of 120 KB: the supervisor took {peak} KiB at most");
    assert!(peak < SMALL, "{peak} KiB");
    world.let_go("full");
    world.ok("relaunch", &["stop", "docs", "--now"]);
    assert!(!run.wait().success());
    assert_eq!((world.state("docs").as_str(), world.of_runs().len()), ("interrupted", 0));
}

#[test]
fn tool_calls_that_never_end_with_long_ids_take_no_memory() {
    let call = r#"{"type":"assistant","parent_tool_use_id":"TEXT","message":{"content":[{"type":"tool_use","id":"NUMBER TEXT","name":"TEXT","input":{"file_path":"TEXT"}}]}}"#;
    let (world, mut run, peak) = at_its_fullest(&format!("{}step full\nwork", repeated(600, call)));
    eprintln!("600 open calls: the supervisor took {peak} KiB at most");
    assert!(peak < SMALL, "{peak} KiB");
    world.let_go("full");
    assert!(run.wait().success());
    assert_eq!(world.state("docs"), "delivered");
    let status = world.run("relaunch", &["status", "docs"]);
    assert!(status.status.success() && status.stdout.len() < 4096, "{status:?}");
}

#[test]
fn a_run_that_fills_its_events_keeps_its_result_and_cost() {
    let text = r#"{"type":"assistant","message":{"content":[{"type":"text","text":"NUMBER TEXT"}]}}"#;
    let ask = "ask-post -w docs 'Which one?' -o a=A >/dev/null\n\
               say '{\"type\":\"user\",\"message\":{\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"t\",\"content\":\"asked\"}]}}'\n";
    let result = r#"say "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"terminal_reason\":\"completed\",\"session_id\":\"$session\",\"result\":\"all done\",\"model_usage_since_last_result\":{\"m\":{\"costUSD\":3}}}""#;
    let (world, mut run, peak) = at_its_fullest(&format!("{}{ask}step full\n{result}\n", repeated(2500, text)));
    eprintln!("150 MB of texts: the supervisor took {peak} KiB at most");
    assert!(peak < SMALL, "{peak} KiB");
    world.let_go("full");
    assert!(run.wait().success());
    let size = std::fs::metadata(file(&world, "events.jsonl")).expect("events").len();
    assert!((60 << 20..EVENTS).contains(&size), "{size} bytes of events");
    let events = events(&world);
    assert_eq!(notes(&events).iter().filter(|note| note.contains("no longer recorded")).count(), 1, "{:?}", notes(&events));
    let types: Vec<&str> = events.iter().rev().take(3).filter_map(|e| e["type"].as_str()).collect();
    assert_eq!(types, ["result", "question_posted", "note"]);
    let run = world.json(file(&world, "run.json"));
    assert_eq!((&run["state"], &run["result"], &run["cost_usd"]), (&"delivered".into(), &"all done".into(), &3.0.into()));
    // Their readers show it.
    assert!(world.ok("relaunch", &["logs", "docs"]).contains("no longer recorded"));
}

#[test]
fn results_without_end_are_booked_to_the_last_dollar() {
    let result = r#"{"type":"result","subtype":"success","is_error":true,"terminal_reason":"odd","result":"x","model_usage_since_last_result":{"m":{"costUSD":0.5}}}"#;
    let world = World::stepping(&format!("{}exit 1", repeated(5000, result)));
    world.configure("attempts = 1\n");
    std::fs::write(world.path("prompt.md"), "Do it.").expect("prompt");
    assert!(!world.run("relaunch", &["run", "-w", "docs", "prompt.md"]).status.success());
    assert_eq!(events(&world).iter().filter(|event| event["type"] == "result").count(), 5000);
    let [day] = &world.names("costs")[..] else { panic!("not one day") };
    let day = std::fs::read_to_string(world.in_mailbox(format!("costs/{day}"))).expect("bookings");
    let bookings: Vec<Value> = day.lines().map(|line| serde_json::from_str(line).expect("a booking")).collect();
    let booked: f64 = bookings.iter().filter_map(|booking| booking["cost_usd"].as_f64()).sum();
    assert_eq!((bookings.len(), booked), (1001, 2500.0));
    assert_eq!(world.json(file(&world, "run.json"))["cost_usd"], 2500.0);
}
