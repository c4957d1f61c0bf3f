//! Reading along: no line missed, none twice, over attempts and restarts, and nothing done while nothing happens.

use super::*;
use serde_json::json;
use std::io::Read;

fn seqs(events: &[Value]) -> Vec<u64> {
    events.iter().filter_map(|e| e["seq"].as_u64()).collect()
}

#[track_caller]
fn follow(service: &Service, what: &str) -> Live {
    let mut command = service.program("relaunch");
    command.args([what, "-f", "w"]);
    Live::spawn(command)
}

#[test]
fn events_and_logs_are_followed_over_attempts_and_restarts_without_a_gap_or_a_double() {
    let mut service = service_with("[relaunch]\nbackoff = '1s'\n");
    service.add_hold("hold");
    service.watch_on_nothing();
    service.ask("w", &["Begin?"]);
    // The first attempt's supervisor is killed, the second attempt fails, the third ends well.
    service.api.on("User chose: yes", json!([bash("hold"), {"text": "never"}]));
    service.api.on("Continue where you left off", json!([{"status": 400}, {"text": "done"}]));
    service.answer("w", "yes");
    service.api.wait_for_text("User chose: yes", 1, LIMIT);
    service.wait_status("w", "at its tool", |s| s["live"]["doing"] == "tool");
    let mut events = follow(&service, "events");
    events.expect_type("tool_call");
    let mut logs = service.program("relaunch");
    let mut logs = logs.args(["logs", "-f", "w"]).stdout(Stdio::piped()).spawn().expect("it starts");
    let supervisor = service.processes("relaunch supervise")[0];
    crate::support::service::signal(supervisor, "KILL");
    // Meanwhile the watcher is replaced.
    service.stop_watching();
    service.watch();
    let (outcome, seen) = events.wait_end();
    assert!(outcome.status.success(), "{outcome:?}");
    let status = service.status("w");
    let all = service.events("w");
    assert_eq!(seen, all, "{status:#}");
    let numbers = seqs(&all);
    assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]), "{numbers:?}");
    assert!(service.launches().len() >= 2, "{:#?}", service.launches());

    let middle = numbers[numbers.len() / 2];
    let rest = service.call("relaunch", &["events", "w", "--since", &middle.to_string()]).ok().events();
    assert_eq!(seqs(&rest), numbers.iter().copied().filter(|n| *n > middle).collect::<Vec<_>>());

    let mut text = String::new();
    logs.stdout.take().expect("piped").read_to_string(&mut text).expect("words");
    assert!(logs.wait().expect("its status").success());
    assert_eq!(text, service.call("relaunch", &["logs", "w"]).ok().stdout);
    assert!(text.contains("-- attempt 2"), "{text}");
}

/// How often the threads of a process have gone to sleep by themselves.
fn switches(pid: u32) -> u64 {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).expect("its threads").flatten();
    let count = |status: String| {
        let line = status.lines().find_map(|l| l.strip_prefix("voluntary_ctxt_switches:").map(str::to_owned));
        line.and_then(|n| n.trim().parse::<u64>().ok()).unwrap_or(0)
    };
    tasks.map(|t| count(std::fs::read_to_string(t.path().join("status")).unwrap_or_default())).sum()
}

#[test]
fn following_costs_nothing_while_nothing_happens() {
    let service = service();
    service.add_hold("hold");
    let mut run = start(&service, "w", &json!([bash("hold"), {"text": "done"}]));
    run.expect_type("tool_call");
    let mut events = follow(&service, "events");
    events.expect_type("tool_call");
    // Longer than any look that a polling loop would take.
    std::thread::sleep(std::time::Duration::from_millis(500));
    let before = switches(events.pid());
    std::thread::sleep(std::time::Duration::from_secs(6));
    let slept = switches(events.pid()) - before;
    assert!(slept <= 1, "it woke {slept} times in 6 s");
    service.release("hold");
    events.expect_type("tool_result");
    let (outcome, seen) = events.wait_end();
    assert!(outcome.status.success());
    assert_eq!(seen, run.wait_end().1);
}

#[test]
fn a_follower_whose_reader_goes_away_ends_although_nothing_happens() {
    let service = service();
    service.add_hold("hold");
    let mut run = start(&service, "w", &json!([bash("hold"), {"text": "done"}]));
    run.expect_type("tool_call");
    let mut command = service.program("relaunch");
    let mut follower = command.args(["events", "-f", "w"]).stdout(Stdio::piped()).spawn().expect("it starts");
    let mut first = [0; 1];
    let mut out = follower.stdout.take().expect("piped");
    out.read_exact(&mut first).expect("an event");
    drop(out);
    assert!(follower.wait().expect("its status").success());
    service.release("hold");
    run.wait_end();
}
