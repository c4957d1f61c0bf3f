//! A watcher that refuses an answer which does not count is killed before each of its system calls. The next one finds the answer still
//! there, or refused: the question waits, the answer is kept, no agent is started with it, and a proper answer counts.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::{World, in_parallel, needs, points_of_every_run, strace, until};

/// The system calls that change the mailbox, or decide who may.
const CALLS: [&str; 9] = ["openat2", "write", "fsync", "renameat", "renameat2", "linkat", "unlinkat", "mkdirat", "flock"];

/// A question with a checkpoint and a date, and a forged answer to it, whose value has reached the checkpoint too.
fn forged() -> World {
    let world = World::stepping("work");
    world.configure(&world.only_signed_answers());
    world.ok("checkpoint", &["save", "docs", "--step", "one"]);
    world.ok("ask-post", &["-w", "docs", "Merge?", "-o", "a=A", "-o", "b=B", "--timeout", "2h"]);
    world.forge("docs", "b");
    let round = world.document("answered/docs.json")["question_id"].clone();
    let mut checkpoint = world.document("checkpoints/docs.json");
    (checkpoint["user_answer"], checkpoint["user_answer_to"]) = ("b".into(), round);
    std::fs::write(world.in_mailbox("checkpoints/docs.json"), checkpoint.to_string()).expect("a checkpoint");
    world
}

/// The question waits as before, and what was forged lies in quarantine once.
#[track_caller]
fn refused_once(world: &World, when: &str) {
    until(when, || {
        let waits = world.in_mailbox("pending/docs.json").exists() && world.names("answered").is_empty();
        waits && world.document("pending/docs.json").get("answer").is_none()
    });
    until(when, || world.names("timers").len() == 1);
    assert_eq!(world.names("quarantine"), ["docs.json", "docs.json.reason"], "{when}");
    assert_eq!(world.document("quarantine/docs.json")["answer"]["value"], "b", "{when}");
    assert!(world.document("checkpoints/docs.json")["user_answer"].is_null(), "{when}");
    assert_eq!((world.logged("start "), world.state("docs").as_str()), (0, "pending"), "{when}");
}

#[track_caller]
fn a_proper_answer_counts(world: &World, when: &str) {
    world.ok("ask-answer", &["docs", "a"]);
    assert_eq!(world.closed("docs", "delivered", 1)[0]["answer"]["value"], "a", "{when}");
    assert_eq!((world.logged("shown "), world.logged("violation ")), (1, 0), "{when}: {:#?}", world.log());
    world.assert_whole(when);
}

/// The points of a watcher from its first look at the answer to the question's return: the name of a system call, and which of them.
fn points(trace: &str) -> Vec<(&'static str, usize)> {
    let mut seen = [0; CALLS.len()];
    let (mut looked, mut refused, mut points) = (false, false, Vec::new());
    for line in trace.lines() {
        let Some(call) = CALLS.iter().position(|call| line.starts_with(&format!("{call}("))) else { continue };
        seen[call] += 1;
        looked |= line.contains("answered/docs.json");
        if looked && !refused {
            points.push((CALLS[call], seen[call]));
        }
        refused |= line.starts_with("write(") && line.contains("\\\"refused\\\"");
    }
    points
}

#[test]
fn a_watcher_killed_while_it_refuses_leaves_it_to_the_next() {
    needs!("strace");
    let reference = || {
        let (world, set) = (forged(), format!("trace={}", CALLS.join(",")));
        let trace = world.path("trace");
        let before = strace(&["-qq", "-s", "400", "-e", &set, "-e", "signal=none", "-o", trace.to_str().expect("a path")]);
        let watcher = world.start_watcher_behind(&before);
        refused_once(&world, "unkilled");
        a_proper_answer_counts(&world, "unkilled");
        watcher.kill();
        points(&std::fs::read_to_string(&trace).expect("a trace"))
    };
    let points = points_of_every_run(reference);
    let kills = AtomicUsize::new(0);
    in_parallel(8, &points, |(call, n)| {
        let when = format!("watcher killed before {call} number {n}");
        let world = forged();
        let inject = format!("inject={call}:signal=KILL:when={n}");
        let killing = strace(&["-qq", "-e", &format!("trace={call}"), "-e", &inject, "-e", "signal=none", "-o", "/dev/null"]);
        let mut watcher = world.start_watcher_behind(&killing);
        until(&when, || watcher.process.has_ended() || world.audit("docs").contains(&"refused".to_owned()));
        kills.fetch_add(usize::from(watcher.process.has_ended()), Ordering::Relaxed);
        drop(watcher);
        let _next = world.start_watcher();
        refused_once(&world, &when);
        a_proper_answer_counts(&world, &when);
    });
    let kills = kills.into_inner();
    eprintln!("watcher: killed at {kills} of {} points", points.len());
    assert!(points.len() >= 20 && kills * 10 >= points.len() * 8, "only {kills} of {} points were reached", points.len());
}
