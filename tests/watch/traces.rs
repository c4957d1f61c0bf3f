//! The trace of an asker: its run is a part of it, and an independent collector gets the spans of the round.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::Value;

use crate::support::files::write_program;
use crate::support::{Server, World, needs, output, until};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

/// A world whose workflows are run by this script of sh, with a section `[traces]`.
fn world(script: &str, traces: &str) -> World {
    let world = World::new();
    write_program(&world.path("host"), &format!("#!/bin/sh\ncat > /dev/null\n{script}\n"));
    let host = world.path("host").display().to_string();
    world.configure(&format!(
        "[relaunch]\nbackoff = \"20ms\"\nbackoff_max = \"40ms\"\n[runner]\ndefault = \"host\"\n[runner.host]\nkind = \"program\"\n\
         program = \"{host}\"\n{traces}\n"
    ));
    world.make_mailbox();
    world
}

/// A world whose spans go to this collector.
fn world_with_collector(server: &Server, script: &str, more: &str) -> World {
    world(script, &format!("[traces]\nurl = \"http://127.0.0.1:{}/v1/traces\"\n{more}", server.port))
}

/// Asks and answers in a trace.
fn ask_in_trace(world: &World, workflow: &str, parent: &str, state: &str) -> Value {
    let mut post = world.command("ask-post");
    post.args(["-w", workflow, "Which secret word?", "-o", "a=A"]).env("TRACEPARENT", parent).env("TRACESTATE", state);
    let posted = output(&mut post);
    assert_eq!(posted.code(), 0, "{}", posted.words());
    let document = world.document(&format!("pending/{workflow}.json"));
    world.ok("ask-answer", &[workflow, "a"]);
    document
}

/// The variable in the environment that a run has written to `~/env`.
fn in_run(world: &World, name: &str) -> Option<String> {
    let env = fs::read_to_string(world.home().join("env")).unwrap_or_default();
    env.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('=').map(str::to_owned))
}

/// The spans that the collector has got, once there are so many.
fn spans(place: &World, count: usize) -> Vec<Value> {
    let spans = until("the collector has the spans", || Some(Server::lines(place, "spans")).filter(|spans| spans.len() >= count));
    assert!(spans.iter().all(|span| span["wrong"] == serde_json::json!([])), "{spans:#?}");
    assert_eq!(spans.len(), count, "{spans:#?}");
    spans
}

fn attribute<'a>(span: &'a Value, key: &str) -> &'a Value {
    let found = span["attributes"].as_array().unwrap().iter().find(|attribute| attribute["key"] == key);
    found.map_or(&Value::Null, |attribute| &attribute["value"]["stringValue"])
}

#[test]
fn without_a_collector_the_trace_is_passed_on_as_it_is() {
    let world = world("env > ~/env", "");
    let _watcher = world.start_as_watcher(world.command("relaunch").arg("watch").env("TRACEPARENT", PARENT).env("TRACESTATE", "its=own"));
    let other = PARENT.replace("4bf9", "5bf9");
    ask_in_trace(&world, "docs", &other, "");
    world.closed("docs", "delivered", 1);
    assert_eq!((in_run(&world, "TRACEPARENT"), in_run(&world, "TRACESTATE")), (Some(other), None));
    // A question outside of all traces is not put into the trace of the watcher.
    world.ask_and_answer("more");
    world.closed("more", "delivered", 1);
    assert_eq!((in_run(&world, "WORKFLOW_ID").as_deref(), in_run(&world, "TRACEPARENT")), (Some("more"), None));
}

#[test]
fn a_program_of_exec_is_in_the_trace_of_the_asker() {
    let world = world("true", "");
    ask_in_trace(&world, "docs", PARENT, "rojo=1");
    world.sh("relaunch exec docs -- sh -c 'env > ~/env'");
    assert_eq!((in_run(&world, "TRACEPARENT").as_deref(), in_run(&world, "TRACESTATE").as_deref()), (Some(PARENT), Some("rojo=1")));
}

#[test]
fn a_trace_that_is_not_recorded_sends_no_spans() {
    needs!("python3", "curl");
    let place = World::new();
    let server = Server::start(&place, "collector.py", &[]);
    let world = world_with_collector(&server, "env > ~/env", "");
    let _watcher = world.watch();
    let unrecorded = PARENT.replace("-01", "-00");
    ask_in_trace(&world, "quiet", &unrecorded, "");
    world.closed("quiet", "delivered", 1);
    assert_eq!(in_run(&world, "TRACEPARENT"), Some(unrecorded));
    ask_in_trace(&world, "loud", PARENT, "");
    world.closed("loud", "delivered", 1);
    assert!(spans(&place, 3).iter().all(|span| span["traceId"] == TRACE));
}

#[test]
fn texts_are_sent_only_if_the_operator_wants_them() {
    needs!("python3", "curl");
    let place = World::new();
    let server = Server::start(&place, "collector.py", &[]);
    let headers = place.path("headers");
    write_secret(&headers, "Authorization: Bearer a:b\n");
    let world = world_with_collector(&server, "true", &format!("texts = true\nheaders_file = \"{}\"", headers.display()));
    let _watcher = world.watch();
    ask_in_trace(&world, "docs", PARENT, "");
    let round = spans(&place, 3).remove(0);
    assert_eq!((attribute(&round, "askbox.question"), attribute(&round, "askbox.answer")), (&"Which secret word?".into(), &"a".into()));
    assert_eq!(Server::lines(&place, "requests")[0]["headers"]["authorization"], "Bearer a:b");
    until("the doctor tells it", || world.run("askbox", &["doctor"]).words().contains("spans of 1 round sent"));
    fs::set_permissions(&headers, fs::Permissions::from_mode(0o644)).unwrap();
    let doctor = world.run("askbox", &["doctor", "--config"]).words();
    assert!(!doctor.contains(&server.port.to_string()), "the address may be a secret: {doctor}");
    assert!(doctor.contains("open_secret: traces.headers_file"), "{doctor}");
}

fn write_secret(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}

#[test]
fn a_collector_that_refuses_delays_nothing_and_is_told() {
    needs!("python3", "curl");
    let place = World::new();
    let server = Server::start(&place, "collector.py", &[]);
    let world = world_with_collector(&server, "true", "");
    fs::write(place.path("server/fails"), "").unwrap();
    let watcher = world.watch();
    ask_in_trace(&world, "docs", PARENT, "");
    watcher.says("spans could not be sent: curl failed: curl: (22) The requested URL returned error: 503");
    world.closed("docs", "delivered", 1);
    // The spans are given up after five requests, so the doctor is asked in the next test.
    until("it is on record", || fs::read_to_string(world.in_mailbox("traces.json")).is_ok_and(|tally| tally.contains("503")));
    fs::remove_file(place.path("server/fails")).unwrap();
    let all = until("they are sent again", || {
        let spans = Server::lines(&place, "spans");
        spans.iter().any(|span| span["taken"] == true).then_some(spans)
    });
    let ids =
        |taken: bool| all.iter().filter(|span| span["taken"] == taken).map(|span| span["spanId"].to_string()).collect::<BTreeSet<_>>();
    assert_eq!((ids(true).len(), ids(true)), (3, ids(false)), "the same spans: {all:#?}");
    until("the doctor is content", || world.run("askbox", &["doctor"]).words().contains("spans of 1 round sent"));
}

#[test]
fn spans_that_a_watcher_leaves_behind_are_counted_as_lost() {
    needs!("python3", "curl");
    let place = World::new();
    let server = Server::start(&place, "collector.py", &[]);
    let world = world_with_collector(&server, "true", "");
    fs::write(place.path("server/fails"), "").unwrap();
    let watcher = world.watch();
    ask_in_trace(&world, "docs", PARENT, "");
    watcher.says("spans could not be sent");
    watcher.stop();
    until("the exporter has left", || world.processes("askbox-outgoing").is_empty());
    let tally = world.document("traces.json");
    assert_eq!((&tally["sent"], &tally["lost"]), (&0.into(), &1.into()), "{tally}");
    let doctor = world.run("askbox", &["doctor"]).words();
    assert!(doctor.contains("1 lost"), "{doctor}");
    assert!(doctor.contains("the collector took no spans") && doctor.contains("traces.url"), "{doctor}");
}

#[test]
fn a_task_is_in_the_trace_of_the_command_that_begins_it() {
    let world = world("env > ~/env", "");
    world.sh(&format!("TRACEPARENT={PARENT} TRACESTATE=rojo=1 relaunch run -w task --prompt 'Look around.'"));
    assert_eq!((in_run(&world, "TRACEPARENT").as_deref(), in_run(&world, "TRACESTATE").as_deref()), (Some(PARENT), Some("rojo=1")));
    // A malformed one is no reason to refuse the task.
    world.sh("TRACEPARENT=x relaunch run -w other --prompt 'Look around.'");
    assert_eq!((in_run(&world, "WORKFLOW_ID").as_deref(), in_run(&world, "TRACEPARENT")), (Some("other"), None));
}

mod promises {
    use super::*;

    #[test]
    fn the_spans_of_a_round_lie_in_the_trace_of_its_asker() {
        needs!("python3", "curl");
        let place = World::new();
        let server = Server::start(&place, "collector.py", &[]);
        let world = world_with_collector(&server, "env > ~/env; [ -e ~/second ] || { touch ~/second; exit 1; }", "");
        let _watcher = world.watch();
        let document = ask_in_trace(&world, "docs", PARENT, "rojo=1");
        assert_eq!((&document["trace"]["traceparent"], &document["trace"]["tracestate"]), (&PARENT.into(), &"rojo=1".into()));
        world.closed("docs", "delivered", 1);
        let spans = spans(&place, 4);
        let names: Vec<_> = spans.iter().map(|span| span["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["askbox round", "askbox wait", "askbox run", "askbox run"]);
        let (round, first, second) = (&spans[0], &spans[2], &spans[3]);
        assert!(spans.iter().all(|span| span["traceId"] == TRACE && span["traceState"] == "rojo=1"), "{spans:#?}");
        assert_eq!(round["parentSpanId"], "00f067aa0ba902b7");
        assert!(spans[1..].iter().all(|span| span["parentSpanId"] == round["spanId"]), "{spans:#?}");
        let steps: Vec<_> = round["events"].as_array().unwrap().iter().map(|event| event["name"].as_str().unwrap()).collect();
        assert_eq!(steps, ["asked", "answered", "launched", "launched", "delivered"]);
        assert_eq!((&first["status"]["code"], &second["status"]), (&2.into(), &serde_json::json!({})));
        assert_eq!((attribute(round, "askbox.workflow_id"), attribute(round, "askbox.outcome")), (&"docs".into(), &"delivered".into()));
        // The second attempt has told its environment.
        let given = in_run(&world, "TRACEPARENT");
        assert_eq!(given, Some(format!("00-{TRACE}-{}-01", second["spanId"].as_str().unwrap())));
        assert_eq!(in_run(&world, "TRACESTATE").as_deref(), Some("rojo=1"));
        // The words of the question and of the answer stay on the machine.
        let text = serde_json::to_string(&spans).unwrap();
        assert!(!text.contains("secret") && attribute(round, "askbox.answer").is_null(), "{text}");
        let request = Server::lines(&place, "requests").remove(0);
        assert_eq!((&request["path"], &request["service"]["value"]["stringValue"]), (&"/v1/traces".into(), &"askbox".into()));
    }

    #[test]
    fn the_questions_of_a_run_go_on_in_its_trace() {
        needs!("python3", "curl");
        let place = World::new();
        let server = Server::start(&place, "collector.py", &[]);
        // The first run asks on behalf of another workflow, and the run of that one asks nothing.
        let script = "[ \"$WORKFLOW_ID\" = child ] || ask-post -w child 'And now?' -o a=A";
        let world = world_with_collector(&server, script, "");
        let _watcher = world.watch();
        world.ask_and_answer("docs");
        world.closed("docs", "delivered", 1);
        world.ok("ask-answer", &["child", "a"]);
        world.closed("child", "delivered", 1);
        let spans = spans(&place, 6);
        assert!(spans.iter().all(|span| span["traceId"] == spans[0]["traceId"]), "{spans:#?}");
        // A round that ends a little later may be sent first.
        let round = |workflow: &str| spans.iter().find(|span| attribute(span, "askbox.workflow_id") == workflow).expect("a round");
        let (parent, child) = (round("docs"), round("child"));
        let is_run = |span: &&Value| span["name"] == "askbox run" && span["parentSpanId"] == parent["spanId"];
        let run = spans.iter().find(is_run).expect("the run of the parent");
        assert!(parent.get("parentSpanId").is_none(), "nobody gave the first one a trace");
        assert_eq!(child["parentSpanId"], run["spanId"], "the child was asked within the run of its parent");
        let asked = world.closed("child", "delivered", 1).remove(0);
        assert_eq!(
            (&asked["parent"], asked["trace"]["traceparent"].as_str().map(|parent| &parent[3..35])),
            (&"docs".into(), spans[0]["traceId"].as_str())
        );
    }
}
