//! A workflow with thousands of past rounds costs a watcher no more than one with few.

use crate::support::{World, files, needs, strace, until};

/// How many closed rounds a watcher with a target opens while one round of a workflow with so many past rounds is asked, answered,
/// delivered and told.
fn opened(past: usize) -> usize {
    let world = World::stepping("work");
    files::write_program(&world.path("notify.sh"), "#!/bin/sh\necho \"$1\" >>\"$AGENT_DIR/notified\"\n");
    world.configure(&format!("[notify]\ngrace = \"0s\"\ncommand = [\"{}\"]\n", world.path("notify.sh").display()));
    world.make_mailbox();
    world.past_rounds("w", 0..past);
    // The first round after those of an earlier version makes the list of the newest ones.
    world.ask_and_answer("w");
    world.sh("relaunch w");
    let trace = world.path("trace");
    let before = strace(&["-f", "-qq", "-e", "trace=open,openat,openat2", "-e", "signal=none", "-o", trace.to_str().expect("a path")]);
    let watcher = world.start_watcher_behind(&before);
    watcher.says("watching ");
    world.ok("ask-post", &["-w", "w", "Merge?"]);
    let told = |n: usize| std::fs::read_to_string(world.agent("notified")).is_ok_and(|told| told.lines().count() >= n);
    until("the question is told", || told(1));
    world.ok("ask-answer", &["w", "yes"]);
    world.reaches("w", "delivered");
    until("its end is told", || told(2));
    drop(watcher);
    let trace = std::fs::read_to_string(trace).expect("a trace");
    trace.lines().filter(|line| line.contains("/w.01900000-0000-7000-8000-") || line.contains("\"w.01900000-0000-7000-8000-")).count()
}

#[test]
fn news_of_a_round_read_none_of_the_past_rounds() {
    needs!("strace");
    assert_eq!([opened(20), opened(2_000)], [0, 0]);
}
