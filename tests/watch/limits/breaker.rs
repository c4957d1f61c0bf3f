//! The queue pauses after run upon run that fails.

use super::*;

#[test]
fn failures_in_a_row_pause_the_queue_until_a_probe_succeeds() {
    let relaunch = "attempts = 1\nbreaker_failures = 3\nbreaker_pause = \"8s\"";
    let world = world("[ -e $AGENT_DIR/well ] && work || exit 3", "", "");
    world.configure(relaunch);
    world.reconfigure("max_concurrent = 8", "max_concurrent = 1");
    let workflows = ["a", "b", "c", "d", "e", "f"];
    workflows.iter().for_each(|w| world.ask_and_answer(w));
    let watcher = world.start_watcher();
    // All that follows has to be seen before a probe is launched.
    let paused = until("the queue is paused", || Some(summary(&world)).filter(|summary| summary["queue"]["state"] == "paused"));
    assert_eq!(held_up(&world), "relaunch go");
    assert_eq!((world.logged("start "), &paused["rounds"]["parked"], &paused["rounds"]["answered"]), (3, &3.into(), &3.into()), "{paused}");
    let waiting = world.status("f");
    assert_eq!(waiting["state"], "answered");
    assert!(waiting["why"].as_str().is_some_and(|w| w.contains("paused") && w.contains("3 runs failed")), "{waiting}");
    assert_eq!(audited(&world, "queue_paused"), 1);
    // The next watcher knows it, too.
    watcher.kill();
    let watcher = world.start_watcher();
    until("the probe fails", || world.logged("start ") == 4);
    assert!(when(&records(&world, "d")[0], "claimed_at") >= when(&paused["queue"], "until"));
    until("the queue is paused again", || audited(&world, "queue_paused") == 2);
    std::fs::write(world.agent("well"), "").expect("a file");
    world.reaches("e", "delivered");
    world.reaches("f", "delivered");
    assert_eq!((summary(&world)["queue"]["state"].as_str(), audited(&world, "queue_resumed")), (Some("open"), 1));
    let log = world.watchers_said();
    for word in ["paused", "probing", "resumed"] {
        assert!(log.contains(word), "{word} is not in the log:\n{log}");
    }
    drop(watcher);
}

#[test]
fn the_pause_after_failures_ends_when_the_operator_says_go() {
    let world = world("[ -e $AGENT_DIR/well ] && work || exit 3", "", "");
    world.configure("attempts = 1\nbreaker_failures = 2\nbreaker_pause = \"2h\"");
    world.reconfigure("max_concurrent = 8", "max_concurrent = 1");
    ["a", "b", "c", "d"].iter().for_each(|w| world.ask_and_answer(w));
    let _watcher = world.start_watcher();
    until("the queue is paused", || summary(&world)["queue"]["state"] == "paused");
    std::fs::write(world.agent("well"), "").expect("a file");
    let said = world.ok("relaunch", &["go"]);
    assert!(said.contains("one run is tried now") && said.contains("2 runs failed"), "{said}");
    world.reaches("c", "delivered");
    world.reaches("d", "delivered");
    assert_eq!(summary(&world)["queue"]["state"], "open");
    assert_eq!(world.ok("relaunch", &["go"]), "the queue was not paused\n");
}
