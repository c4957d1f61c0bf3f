//! A watcher that answers a question with the event that it waits for is killed before each of its system calls. The next one finds the
//! question still open, or answered: the event answers once, and the agent is told once.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::{World, in_parallel, needs, points_of_every_run, strace, until};

/// The system calls that change the mailbox, or decide who may.
const CALLS: [&str; 9] = ["openat2", "write", "fsync", "renameat", "renameat2", "linkat", "unlinkat", "mkdirat", "flock"];

/// A checkpoint, and a wait for a file that has come by now.
fn waits() -> World {
    let world = World::stepping("work");
    world.ok("checkpoint", &["save", "docs", "--step", "built"]);
    world.ok("ask-post", &["-w", "docs", "--until-file", "built", "--timeout", "1h"]);
    std::fs::write(world.work().join("built"), "").expect("a file");
    world
}

/// Checks in the round, the checkpoint and the agent's log that the event has answered once.
#[track_caller]
fn answered_once(world: &World, when: &str) {
    let round = &world.closed("docs", "delivered", 1)[0];
    assert_eq!((&round["answer"]["by"], round.get("late_answers")), (&"event".into(), None), "{when}: {round}");
    assert_eq!(world.document("checkpoints/docs.json")["user_answer"], round["answer"]["value"], "{when}");
    until(when, || world.names("running").is_empty());
    for folder in ["pending", "answered", "parked", "quarantine"] {
        assert_eq!(world.names(folder), [""; 0], "{when}: {folder}/");
    }
    assert_eq!((world.logged("shown "), world.logged("violation ")), (1, 0), "{when}: {:#?}", world.log());
    assert_eq!(world.audit("docs").iter().filter(|event| *event == "answered").count().max(1), 1, "{when}");
    world.assert_whole(when);
}

/// The points of a watcher from its first look at the question to its claim of the answer: the name of a system call, and which of them.
fn points(trace: &str) -> Vec<(&'static str, usize)> {
    let mut seen = [0; CALLS.len()];
    let (mut looked, mut claimed, mut points) = (false, false, Vec::new());
    for line in trace.lines() {
        let Some(call) = CALLS.iter().position(|call| line.starts_with(&format!("{call}("))) else { continue };
        seen[call] += 1;
        looked |= line.contains("pending/docs.json");
        if looked && !claimed {
            points.push((CALLS[call], seen[call]));
        }
        claimed |= line.starts_with("renameat2(") && line.contains("docs.") && line.contains("docs.json") && !line.contains(".tmp");
    }
    points
}

#[test]
fn a_watcher_killed_during_an_event_leaves_one_answer() {
    needs!("strace");
    let reference = || {
        let (world, set) = (waits(), format!("trace={}", CALLS.join(",")));
        let trace = world.path("trace");
        let watcher = world.start_watcher_behind(&strace(&["-qq", "-e", &set, "-e", "signal=none", "-o", trace.to_str().expect("a path")]));
        answered_once(&world, "unkilled");
        watcher.kill();
        points(&std::fs::read_to_string(&trace).expect("a trace"))
    };
    let points = points_of_every_run(reference);
    let kills = AtomicUsize::new(0);
    in_parallel(8, &points, |(call, n)| {
        let when = format!("watcher killed before {call} number {n}");
        let world = waits();
        let inject = format!("inject={call}:signal=KILL:when={n}");
        let killing = strace(&["-qq", "-e", &format!("trace={call}"), "-e", &inject, "-e", "signal=none", "-o", "/dev/null"]);
        let mut watcher = world.start_watcher_behind(&killing);
        until(&when, || watcher.process.has_ended() || !world.rounds("closed", "docs").is_empty());
        kills.fetch_add(usize::from(watcher.process.has_ended()), Ordering::Relaxed);
        drop(watcher);
        let _next = world.start_watcher();
        answered_once(&world, &when);
    });
    let kills = kills.into_inner();
    eprintln!("watcher: killed at {kills} of {} points", points.len());
    assert!(points.len() >= 20 && kills * 10 >= points.len() * 8, "only {kills} of {} points were reached", points.len());
}
