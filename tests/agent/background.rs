//! Tasks that work in the background: the parent goes on, and a notice brings each conclusion once.

use std::os::unix::process::ExitStatusExt;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::agent::scene::{SESSION, Scene};
use crate::support::claude::api::Request;
use crate::support::claude::live::Live;
use crate::support::{Outcome, Signal, in_parallel, needs, output, signal_taken_in, strace, until};
use serde_json::{Value, json};

const STREAMS: [&str; 7] = ["-p", "--input-format", "stream-json", "--output-format", "stream-json", "--session-id", SESSION];

/// The call that starts a task in the background. The task has these steps, and is known by its name.
fn start(name: &str, steps: &Value) -> Value {
    let prompt = format!("child {name} @@{steps}");
    json!({"tool": "Task", "input": {"subagent_type": "general-purpose", "prompt": prompt, "run_in_background": true}})
}

fn bash(command: &str) -> Value {
    json!({"tool": "Bash", "input": {"command": command}})
}

fn ask(question: &str) -> Value {
    let options = json!([{"label": "pg", "description": "A server"}, {"label": "sqlite", "description": "A file"}]);
    json!({"tool": "AskUserQuestion", "input": {"questions": [{"question": question, "header": "DB", "multiSelect": false, "options": options}]}})
}

/// A call that lasts until the file `go` is there.
fn last() -> Value {
    bash("touch begun; until [ -e go ]; do sleep 0.05; done; echo finished >> effects; echo finished")
}

/// The requests of the task with this name.
fn of_task(scene: &Scene, name: &str) -> Vec<Request> {
    let is_its = |turn: &Request| turn.messages()[0].to_string().contains(&format!("child {name} @@"));
    scene.turns().into_iter().filter(is_its).filter(|turn| turn.messages()[0].to_string().contains("\"text\":\"child ")).collect()
}

/// The newest request of the session itself.
fn newest(scene: &Scene) -> Request {
    scene.turns().into_iter().rfind(|turn| turn.tools().contains(&"Task".to_owned())).unwrap()
}

/// The notices that stand in the transcript.
fn notices(scene: &Scene) -> Vec<String> {
    let text = std::fs::read_to_string(scene.transcript()).unwrap();
    let entries = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    entries.filter(|entry| entry["noticeOf"].is_string()).map(|entry| entry["message"]["content"][0]["text"].to_string()).collect()
}

#[track_caller]
fn waits(outcome: Outcome) -> Value {
    let result = outcome.ok().result();
    assert_eq!(result["terminal_reason"], "tool_deferred", "{result:#}");
    result
}

/// The session has started a task, which works in a call, and has said that it waits.
fn waiting(scene: &Scene) -> Live {
    let mut live = Live::spawn(scene.agent(&STREAMS));
    let steps = json!([start("a", &json!([last(), {"text": "the child is done"}])), {"text": "I wait"}, {"text": "all done"}]);
    live.say("m", &format!("x @@{steps}"));
    live.expect("the words of the parent", |event| event["message"]["content"][0]["text"] == "I wait");
    until("the task works", || scene.path("begun").exists());
    live
}

#[test]
fn a_parent_goes_on_and_a_notice_brings_the_conclusion() {
    let scene = Scene::new();
    let mut live = waiting(&scene);
    assert!(newest(&scene).tool_results()[0].contains("works in the background"), "the result comes at once");
    std::fs::write(scene.path("go"), "").unwrap();
    assert_eq!(live.expect_type("result")["result"], "all done", "the turn ends after the task");
    live.finish();
    let told = newest(&scene).model_text();
    assert!(told.matches("[Notice: ").count() == 1 && told.ends_with("is done.]\nthe child is done"), "{told}");
    assert_eq!(of_task(&scene, "a")[1].tool_results(), ["finished"]);
    assert_eq!(notices(&scene).len(), 1);
    output(scene.agent(&["--resume", SESSION]).arg(r#"y @@[{"text":"two"}]"#)).ok();
    assert_eq!((notices(&scene).len(), of_task(&scene, "a").len()), (1, 2), "the next turn does not start it again");
}

#[test]
fn a_message_reaches_a_parent_that_awaits_its_task() {
    let scene = Scene::new();
    let mut live = waiting(&scene);
    live.say("n", r#"y @@[{"text":"I heard"},{"text":"all done now"}]"#);
    live.expect("its reply", |event| event["message"]["content"][0]["text"] == "I heard");
    std::fs::write(scene.path("go"), "").unwrap();
    assert_eq!(live.expect_type("result")["result"], "all done now");
    live.finish();
}

#[test]
fn a_stop_lets_the_call_of_a_task_finish() {
    let scene = Scene::new();
    let live = waiting(&scene);
    signal_taken_in(live.pid(), Signal::TERM);
    std::fs::write(scene.path("go"), "").unwrap();
    assert_eq!(live.finish().0.code(), 143);
    assert_eq!(notices(&scene), [] as [String; 0]);
    assert_eq!(scene.go_on().ok().result()["result"], "all done");
    assert_eq!(of_task(&scene, "a")[1].tool_results(), ["finished"]);
    assert_eq!((notices(&scene).len(), std::fs::read_to_string(scene.path("effects")).unwrap()), (1, "finished\n".into()));
}

#[test]
fn an_interrupt_ends_the_turn_and_the_next_one_has_the_task() {
    let scene = Scene::new();
    let mut live = waiting(&scene);
    live.send(&json!({"type": "control_request", "request_id": "i", "request": {"subtype": "interrupt"}}));
    live.expect("reply", |event| event["type"] == "control_response");
    std::fs::write(scene.path("go"), "").unwrap();
    assert_eq!(live.expect_type("result")["is_error"], true);
    live.say("n", r#"y @@[{"text":"went on"},{"text":"all done"},{"text":"all done"}]"#);
    live.expect_type("result");
    live.finish();
    assert_eq!(of_task(&scene, "a")[1].tool_results(), ["finished"], "its calls are not rejected");
    assert_eq!(notices(&scene).len(), 1);
}

#[test]
fn two_tasks_ask_one_after_the_other() {
    let scene = Scene::new();
    let child = |name: &str| start(name, &json!([ask(&format!("Which {name}?")), {"text": format!("{name} is chosen")}]));
    let below = start(
        "below",
        &json!([{"tool": "Task", "input": {"prompt": format!("leaf @@{}", json!([ask("Which leaf?"), {"text": "leaf is chosen"}]))}}]),
    );
    scene.define("general-purpose", "description: All\ntools: Task, AskUserQuestion", "You work.");
    let steps = json!([{"tools": [child("one"), child("two"), below]}, {"text": "I wait"}]);
    waits(scene.begin(&format!("x @@{steps}")));
    let mut asked = Vec::new();
    for n in 0..3 {
        assert_eq!(scene.names("pending").len(), 1);
        asked.push(scene.document(&format!("pending/{SESSION}.json"))["question"].to_string());
        scene.ok("ask-answer", &[SESSION, "pg"]);
        let outcome = scene.go_on();
        if n < 2 { drop(waits(outcome)) } else { assert_eq!(outcome.ok().result()["terminal_reason"], "completed") }
    }
    asked.sort();
    assert_eq!(asked, ["\"Which leaf?\"", "\"Which one?\"", "\"Which two?\""], "no question is asked twice");
    let mut told = notices(&scene);
    told.iter_mut().for_each(|notice| *notice = notice.split("\\n").last().unwrap().to_owned());
    told.sort();
    assert_eq!(told, ["leaf is chosen\"", "one is chosen\"", "two is chosen\""]);
}

#[test]
fn a_task_that_ends_while_another_starts_is_told_once() {
    needs!("strace");
    let scene = Scene::new();
    // The first one works until the second one has asked.
    let asked = scene.in_mailbox(format!("pending/{SESSION}.json"));
    let until_asked = format!("touch begun; until [ -e {} ]; do sleep 0.05; done", asked.display());
    let first = start("first", &json!([bash(&until_asked), {"text": "first is done"}]));
    let second = start("second", &json!([bash("until [ -e begun ]; do sleep 0.05; done"), ask("Which DB?"), {"text": "second is done"}]));
    let done = json!({"text": "all done"});
    waits(scene.begin(&format!("x @@{}", json!([{"tools": [first, second]}, {"text": "I wait"}, done, done]))));
    scene.ok("ask-answer", &[SESSION, "pg"]);
    // The task that has its answer starts, and is over before the other one has started.
    let late = "inject=clone3:delay_exit=500ms:when=2+";
    let slow = strace(&["-f", "-qq", "-e", "trace=clone3", "-e", "signal=none", "-e", late, "-o", "/dev/null"]);
    let mut command = scene.wrapped(&slow, "ask-agent");
    output(command.args(["--resume", SESSION, "--dangerously-skip-permissions"])).ok();
    assert_eq!(notices(&scene).len(), 2, "{:#?}", notices(&scene));
}

#[test]
fn a_host_is_asked_for_a_permission_of_a_task() {
    let scene = Scene::new();
    let steps = json!([start("a", &json!([bash("echo made >> effects"), {"text": "it ended"}])), {"text": "I wait"}, {"text": "all done"}]);
    let mut live = Live::spawn(scene.careful_agent(&[&STREAMS[..], &["--permission-prompt-tool", "stdio"]].concat()));
    live.say("m", &format!("x @@{steps}"));
    let request = live.expect_type("control_request");
    assert!(request["request"]["agent_id"].is_string(), "{request}");
    live.permit(&request, &json!({"behavior": "deny", "message": "not now"}));
    live.expect_type("result");
    live.finish();
    assert_eq!(of_task(&scene, "a")[1].tool_results(), ["not now"]);
    assert!(!scene.path("effects").exists() && notices(&scene).len() == 1);
}

#[test]
fn an_interrupt_ends_the_wait_of_a_task_for_a_permission() {
    let scene = Scene::new();
    let steps = json!([start("a", &json!([bash("echo made"), {"text": "it ended"}])), bash("echo parent"), {"text": "all done"}]);
    let mut live = Live::spawn(scene.careful_agent(&[&STREAMS[..], &["--permission-prompt-tool", "stdio"]].concat()));
    live.say("m", &format!("x @@{steps}"));
    // One call is asked about at a time: the call of the parent or that of the task.
    live.expect_type("control_request");
    live.send(&json!({"type": "control_request", "request_id": "i", "request": {"subtype": "interrupt"}}));
    live.expect("reply", |event| event["type"] == "control_response");
    assert_eq!(live.expect_type("result")["is_error"], true);
    live.finish();
}

#[test]
fn an_api_error_of_a_task_ends_the_turn_and_not_the_task() {
    let scene = Scene::new();
    let steps = json!([start("a", &json!([{"status": 401}, {"text": "it worked"}])), {"text": "I wait"}, {"text": "all done"}]);
    let outcome = scene.begin(&format!("x @@{steps}"));
    assert_eq!((outcome.code(), &outcome.result()["terminal_reason"]), (1, &json!("api_error")));
    scene.go_on().ok();
    assert_eq!(notices(&scene).len(), 1);
    assert!(newest(&scene).model_text().contains("is done.]\nit worked"));
}

/// Calls that change something, or begin a thread.
const CALLS: [&str; 6] = ["openat", "write", "fdatasync", "flock", "clone3", "read"];

#[test]
fn a_notice_comes_once_wherever_the_process_was_killed() {
    needs!("strace");
    let edit = json!({"tool": "Edit", "input": {"file_path": "n", "old_string": "a", "new_string": "ab"}});
    let steps = json!([start("a", &json!([edit, {"text": "the child is done"}])), {"tool": "Write", "input": {"file_path": "w", "content": "x"}}, {"text": "I wait"}, {"text": "all done"}]);
    let task = format!("x @@{steps}");
    let traced = |scene: &Scene, trace: &str, more: &[&str]| {
        std::fs::write(scene.path("n"), "a").unwrap();
        let wrapped = strace(&[&["-f", "-qq", "-e", trace, "-e", "signal=none"][..], more].concat());
        let mut command = scene.wrapped(&wrapped, "ask-agent");
        command.args(["--session-id", SESSION, "--dangerously-skip-permissions", "--output-format", "json"]).arg(&task);
        output(&mut command)
    };
    let scene = Scene::new();
    let trace = scene.path("trace");
    let out = traced(&scene, &format!("trace={}", CALLS.join(",")), &["-o", trace.to_str().unwrap()]);
    assert!(out.status.success(), "{out:?}");
    let text = std::fs::read_to_string(&trace).unwrap();
    // Each thread is counted for itself. A line begins with the thread's id.
    let count = |call: &str| {
        let mut threads: Vec<&str> =
            text.lines().filter(|line| line.contains(&format!(" {call}("))).filter_map(|line| line.split(' ').next()).collect();
        threads.sort_unstable();
        threads.chunk_by(|one, next| one == next).map(<[&str]>::len).max().unwrap_or(0)
    };
    let points: Vec<(&str, usize)> = CALLS.iter().flat_map(|call| (1..=count(call)).map(|n| (*call, n))).collect();
    let (killed, unknown) = (AtomicUsize::new(0), AtomicUsize::new(0));
    in_parallel(8, &points, |(call, n)| {
        let scene = Scene::new();
        let inject = format!("inject={call}:signal=KILL:when={n}");
        let out = traced(&scene, &format!("trace={call}"), &["-e", &inject, "-o", "/dev/null"]);
        killed.fetch_add(usize::from(out.status.signal() == Some(9) || out.status.code() == Some(137)), Ordering::Relaxed);
        let when = format!("killed before {call} number {n}: {out:?}");
        let mut next = match scene.transcript().metadata() {
            Ok(about) if about.len() > 0 => scene.go_on(),
            _ => scene.begin(&task),
        };
        if next.stderr.contains("No conversation found") {
            next = scene.begin(&task);
        }
        assert_eq!(next.result()["terminal_reason"], "completed", "{when}\n{next:?}");
        assert_eq!(notices(&scene).len(), 1, "{when}");
        assert_eq!(newest(&scene).model_text().matches("[Notice: ").count(), 1, "{when}");
        let told = of_task(&scene, "a").last().unwrap().tool_results();
        let is_unknown = told[0].contains("the outcome is unknown");
        unknown.fetch_add(usize::from(is_unknown), Ordering::Relaxed);
        let n = std::fs::read_to_string(scene.path("n")).unwrap();
        assert!(n == "ab" || (is_unknown && n == "a"), "{when}: {n}, told {told:?}");
    });
    let (killed, unknown) = (killed.into_inner(), unknown.into_inner());
    eprintln!("killed at {killed} of {} calls; the outcome was unknown {unknown} times", points.len());
    assert!(killed * 10 >= points.len() * 6, "killed {killed} of {}", points.len());
}

mod promises {
    use super::*;

    #[test]
    fn a_task_that_asks_sleeps_and_wakes_with_its_parent() {
        let scene = Scene::new();
        let steps = json!([start("a", &json!([ask("Which DB?"), {"text": "it chose"}])), {"text": "I wait"}, {"text": "all done"}]);
        let result = waits(scene.begin(&format!("x @@{steps}")));
        assert_eq!(result["deferred_tool_use"]["name"], "AskUserQuestion");
        let before = scene.turns().len();
        waits(scene.go_on());
        assert_eq!((scene.turns().len(), scene.names("pending").len()), (before, 1), "too early: nothing happens");
        scene.ok("ask-answer", &[SESSION, "sqlite"]);
        scene.go_on().ok();
        assert!(of_task(&scene, "a")[1].tool_results()[0].contains(r#""Which DB?"="sqlite""#));
        assert_eq!(notices(&scene).len(), 1);
        assert!(newest(&scene).model_text().contains("is done.]\nit chose"), "{}", newest(&scene).model_text());
    }
}
