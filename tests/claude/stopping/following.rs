//! Following a run: each line comes once, over attempts and restarts, and an idle follower does not wake.

use super::*;
use crate::support::claude::bash;
use crate::support::claude::live::Live;
use crate::support::{ClaudeWorld, LIMIT, Signal, asleep, signal, sleeps};
use serde_json::json;
use std::io::Read;
use std::time::Instant;

fn seqs(events: &[Value]) -> Vec<u64> {
    events.iter().filter_map(|e| e["seq"].as_u64()).collect()
}

#[track_caller]
fn follow(world: &ClaudeWorld, what: &str) -> Live {
    let mut command = world.command("relaunch");
    command.args([what, "-f", "w"]);
    Live::spawn(command)
}

#[test]
fn events_and_logs_are_followed_without_gap_or_double() {
    let mut world = service_with("[relaunch]\nbackoff = '1s'\n");
    world.add_hold("hold");
    world.keep_watching_from_the_start();
    world.ask("w", &["Begin?"]);
    // The first attempt's supervisor is killed, the second attempt fails, the third ends well.
    world.api.on("User chose: yes", json!([bash("hold"), {"text": "never"}]));
    world.api.on("Continue where you left off", json!([{"status": 400}, {"text": "done"}]));
    world.answer("w", "yes");
    world.api.wait_for_text("User chose: yes", 1, LIMIT);
    world.wait_status("w", "at its tool", |s| s["live"]["doing"] == "tool");
    let mut events = follow(&world, "events");
    events.expect_type("tool_call");
    let mut logs = world.command("relaunch");
    let mut logs = logs.args(["logs", "-f", "w"]).stdout(Stdio::piped()).spawn().expect("it starts");
    world.wait_transcript("w", r#""command":"hold""#);
    signal(world.only_process("relaunch supervise"), Signal::KILL);
    // Meanwhile the watcher is replaced.
    world.stop_watching();
    world.keep_watching();
    let (outcome, seen) = events.wait_end();
    assert!(outcome.status.success(), "{outcome:?}");
    let status = world.status("w");
    let all = world.events("w");
    assert_eq!(seen, all, "{status:#}");
    let numbers = seqs(&all);
    assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]), "{numbers:?}");
    assert!(world.launches().len() >= 2, "{:#?}", world.launches());

    let middle = numbers[numbers.len() / 2];
    let rest = world.run("relaunch", &["events", "w", "--since", &middle.to_string()]).ok().events();
    assert_eq!(seqs(&rest), numbers.iter().copied().filter(|n| *n > middle).collect::<Vec<_>>());

    let mut text = String::new();
    logs.stdout.take().expect("piped").read_to_string(&mut text).expect("words");
    assert!(logs.wait().expect("its status").success());
    assert_eq!(text, world.run("relaunch", &["logs", "w"]).ok().stdout);
    assert!(text.contains("-- attempt 2"), "{text}");
}

#[test]
fn following_costs_nothing_while_nothing_happens() {
    let world = service_with("[limits]\nsilent_after = '1h'\n");
    world.add_hold("hold");
    let mut run = start(&world, "w", &json!([bash("hold"), {"text": "done"}]));
    run.expect_type("tool_call");
    let mut events = follow(&world, "events");
    events.expect_type("tool_call");
    // Something that takes its time and is nothing to the follower.
    let work = |times: usize| {
        for _ in 0..times {
            world.ok("checkpoint", &["path", "w"]);
        }
    };
    // It has written what there was.
    let (before, begun) = (asleep(events.pid()), Instant::now());
    work(50);
    let woken = sleeps(events.pid()) - before;
    // It looks again once a minute.
    assert!(woken <= 1 + 2 * (begun.elapsed().as_secs() / 60), "it woke {woken} times");
    world.release("hold");
    events.expect_type("tool_result");
    let (outcome, seen) = events.wait_end();
    assert!(outcome.status.success());
    let streamed: Vec<Value> = run.wait_end().1.into_iter().filter(|e| e["type"] != "partial").collect();
    assert_eq!(seen, streamed);
}

#[test]
fn a_follower_without_a_reader_ends_in_silence_too() {
    let world = world();
    world.add_hold("hold");
    let mut run = start(&world, "w", &json!([bash("hold"), {"text": "done"}]));
    run.expect_type("tool_call");
    let mut command = world.command("relaunch");
    let mut follower = command.args(["events", "-f", "w"]).stdout(Stdio::piped()).spawn().expect("it starts");
    let mut first = [0; 1];
    let mut out = follower.stdout.take().expect("piped");
    out.read_exact(&mut first).expect("an event");
    drop(out);
    assert!(follower.wait().expect("its status").success());
    world.release("hold");
    run.wait_end();
}
