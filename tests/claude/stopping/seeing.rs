//! `relaunch status` shows whether a live run works, is throttled or is silent.

use super::*;
use crate::support::claude::bash;
use crate::support::{LIMIT, Signal, program, signal};
use serde_json::json;
use std::collections::BTreeSet;
use std::io::Read;

#[test]
fn a_stalled_stream_is_shown_as_silent() {
    let world = service_with("[limits]\nsilent_after = '1s'\n");
    let mut run = start(&world, "w", &json!([{"stall": true, "text": "half a"}]));
    // While it starts, it may be silent as well.
    run.expect_type("generating");
    let silent = run.expect_type("silent");
    assert!(silent["seconds"].as_u64().is_some_and(|s| s >= 1), "{silent}");
    let status = world.status("w");
    assert_eq!(status["state"], "running");
    assert_eq!(status["live"]["doing"], "silent", "{status:#}");
    assert!(status["live"]["words"].as_str().is_some_and(|w| w.starts_with("silent ")), "{status:#}");
    stop(&world, "w", &[]);
}

#[test]
fn status_tells_tool_turns_tokens_cost_and_last_words() {
    let world = world();
    world.add_hold("hold");
    let mut run = start(&world, "w", &json!([{"text": "I hold on.", "tool": "Bash", "input": {"command": "hold"}}, {"text": "done"}]));
    run.expect_type("tool_call");
    let status = world.status("w");
    assert_eq!((&status["state"], &status["live"]["doing"]), (&json!("running"), &json!("tool")), "{status:#}");
    assert_eq!((&status["live"]["tool"], &status["live"]["last_words"]), (&json!("Bash"), &json!("I hold on.")), "{status:#}");
    let table = world.run("relaunch", &["status"]).ok().stdout;
    assert!(table.contains("tool:Bash (") && table.contains("I hold on."), "{table}");
    let one = world.run("relaunch", &["status", "w"]).ok().stdout;
    assert!(one.contains("tool:Bash (") && one.contains("I hold on."), "{one}");
    world.release("hold");
    run.wait_end();
    let status = world.status("w");
    let live = &status["live"];
    assert_eq!((&live["doing"], &live["turns"], &live["last_words"]), (&json!("finished"), &json!(2), &json!("done")), "{status:#}");
    assert_eq!((&live["tokens"]["input"], &live["tokens"]["output"]), (&json!(2000), &json!(200)), "{status:#}");
    assert!(live["cost_usd"].as_f64().is_some_and(|c| c > 0.0), "{status:#}");
}

#[test]
fn a_followed_status_tells_programs_every_change_once() {
    let world = world();
    world.add_hold("hold");
    let mut run = start(&world, "w", &json!([bash("hold"), {"text": "done"}]));
    run.expect_type("tool_call");
    let mut command = world.command("relaunch");
    command.args(["status", "-f", "--json"]);
    let mut status = Live::spawn(command);
    status.expect("the tool", |s| s["live"]["doing"] == "tool");
    world.release("hold");
    let last = status.expect("the end", |s| s["state"] == "delivered");
    assert_eq!(last["workflow_id"], "w");
    signal(status.pid(), Signal::INT);
    let (outcome, seen) = status.wait_end();
    assert!(outcome.status.success(), "{outcome:?}");
    assert_eq!(seen.iter().filter(|s| s["state"] == "delivered").count(), 1, "{seen:#?}");
    run.wait_end();
}

#[test]
fn the_view_goes_on_by_itself_and_returns_the_terminal() {
    let world = world();
    world.add_hold("hold");
    let mut run = start(&world, "w", &json!([bash("hold"), {"text": "done"}]));
    run.expect_type("tool_call");
    let mut command = world.any_command("script");
    command.args(["-qfec", &format!("'{}' status -f", program("relaunch")), "/dev/null"]);
    let mut child = command.stdout(Stdio::piped()).spawn().expect("script starts");
    let mut out = child.stdout.take().expect("piped");
    let (sender, pieces) = channel();
    std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(n @ 1..) = out.read(&mut buffer) {
            let _sent = sender.send(String::from_utf8_lossy(&buffer[..n]).into_owned());
        }
    });
    let mut screen = String::new();
    let mut until = |what: &str, enough: &dyn Fn(&str) -> bool| {
        while !enough(&screen) {
            screen += &pieces.recv_timeout(LIMIT).unwrap_or_else(|e| panic!("{what} is not shown ({e}): {screen:?}"));
        }
        screen.clone()
    };
    // Nothing happens, and the seconds go on.
    let times = |s: &str| s.split("tool:Bash (").skip(1).filter_map(|t| t.split(')').next().map(str::to_owned)).collect::<BTreeSet<_>>();
    let first = until("the passing of time", &|s| times(s).len() >= 3);
    assert!(first.starts_with("\x1b[?1049h\x1b[?25l"), "{first:?}");
    world.release("hold");
    until("the end", &|s| s.contains("nothing is open"));
    signal(world.processes("status -f").into_iter().next_back().expect("it runs"), Signal::INT);
    let all = until("the first screen", &|s| s.contains("\x1b[?25h\x1b[?1049l"));
    assert!(all.matches("\x1b[H").count() < 60, "{all:?}");
    assert!(child.wait().expect("its status").success());
    run.wait_end();
}

mod promises {
    use super::*;

    #[test]
    fn an_overloaded_api_is_shown_as_throttled() {
        let world = world();
        let mut run = start(&world, "w", &json!([{"status": 529, "times": 5}, {"text": "done"}]));
        let throttled = run.expect_type("throttled");
        assert_eq!((&throttled["status"], &throttled["retry"]), (&json!(529), &json!(1)), "{throttled}");
        let status = world.status("w");
        assert_eq!(status["live"]["doing"], "throttled", "{status:#}");
        assert!(status["live"]["words"].as_str().is_some_and(|w| w.starts_with("throttled(529, retry ")), "{status:#}");
        let (outcome, events) = run.wait_end();
        assert!(outcome.status.success(), "{outcome:?} {events:#?}");
        assert_eq!(events.iter().filter(|e| e["type"] == "throttled").count(), 5);
        assert_eq!(world.status("w")["state"], "delivered");
        assert_eq!(world.launches().len(), 1);
    }
}
