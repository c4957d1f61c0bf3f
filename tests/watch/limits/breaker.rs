//! The queue pauses after run upon run that fails.

use super::*;

#[test]
fn a_command_that_waits_for_the_next_attempt_says_so() {
    let world = world("[ -e $AGENT_DIR/well ] && work || { touch $AGENT_DIR/well; exit 3; }", "", "");
    world.configure("attempts = 4");
    world.ask_and_answer("a");
    let ran = world.run("relaunch", &["a"]);
    assert!(ran.status.success(), "{ran:?}");
    let said = String::from_utf8_lossy(ran.stderr.as_bytes()).into_owned();
    assert!(said.contains("a: attempt 1 failed; attempt 2 starts at ") && said.contains("; Ctrl-C stops the run"), "{said}");
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

#[test]
fn a_missing_agent_program_pauses_the_queue_and_parks_nothing() {
    let world = world("work", "", "");
    let well = std::fs::read_to_string(world.config()).expect("the configuration");
    names_program(&world, "/nowhere/claude");
    let workflows = ["a", "b", "c"];
    workflows.iter().for_each(|w| world.ask_and_answer(w));
    let watcher = world.start_watcher();
    watcher.says("no agent can be started: there is no program `/nowhere/claude`");
    let paused = summary(&world);
    assert_eq!(
        (&paused["queue"]["state"], &paused["rounds"]["answered"], &paused["rounds"]["parked"]),
        (&"paused".into(), &3.into(), &0.into())
    );
    let waiting = world.status("a");
    assert!(waiting["why"].as_str().is_some_and(|why| why.contains("there is no program")), "{waiting}");
    // A script whose interpreter is missing cannot be started either. The watcher reads what the configuration says now.
    let script = world.agent("claude.js");
    std::fs::write(&script, "#!/nowhere/node\n").expect("a script");
    std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o700)).expect("its mode");
    names_program(&world, &script.display().to_string());
    watcher.says("its first line names `/nowhere/node`");
    world.replace_config(&well);
    workflows.iter().for_each(|w| drop(world.reaches(w, "delivered")));
    assert_eq!((world.logged("start "), audited(&world, "queue_resumed")), (3, 1));
    assert_eq!(summary(&world)["queue"]["state"], "open");
    watcher.stop();
}

#[test]
fn an_agent_program_that_vanishes_later_parks_one() {
    let world = world("work", "", "");
    world.reconfigure("max_concurrent = 8", "max_concurrent = 1");
    world.make_mailbox();
    let watcher = world.start_watcher();
    watcher.says("watching ");
    // This watcher has read the configuration already. Each supervisor reads it again.
    names_program(&world, "/nowhere/claude");
    let workflows = ["a", "b", "c"];
    workflows.iter().for_each(|w| world.ask_and_answer(w));
    watcher.says("no agent can be started");
    let paused = summary(&world);
    assert_eq!((&paused["rounds"]["answered"], &paused["rounds"]["parked"]), (&2.into(), &1.into()), "{paused}");
    watcher.stop();
}

/// Names another agent program in the operator's configuration.
fn names_program(world: &World, program: &str) {
    let text = std::fs::read_to_string(world.config()).expect("the configuration");
    let now = text.lines().find(|line| line.starts_with("program = ")).expect("a program");
    world.reconfigure(now, &format!("program = \"{program}\""));
}

mod promises {
    use super::*;

    #[test]
    fn failures_in_a_row_pause_the_queue_until_a_probe_succeeds() {
        let relaunch = "attempts = 1\nbreaker_failures = 3\nbreaker_pause = \"2h\"";
        let world = world("[ -e $AGENT_DIR/well ] && work || exit 3", "", "");
        world.configure(relaunch);
        world.reconfigure("max_concurrent = 8", "max_concurrent = 1");
        let workflows = ["a", "b", "c", "d", "e", "f"];
        workflows.iter().for_each(|w| world.ask_and_answer(w));
        let watcher = world.start_watcher();
        let paused = until("the queue is paused", || Some(summary(&world)).filter(|summary| summary["queue"]["state"] == "paused"));
        assert_eq!(held_up(&world), "relaunch go");
        assert_eq!(
            (world.logged("start "), &paused["rounds"]["parked"], &paused["rounds"]["answered"]),
            (3, &3.into(), &3.into()),
            "{paused}"
        );
        let waiting = world.status("f");
        assert_eq!(waiting["state"], "answered");
        assert!(waiting["why"].as_str().is_some_and(|w| w.contains("paused") && w.contains("3 runs failed")), "{waiting}");
        until("it is audited", || audited(&world, "queue_paused") == 1);
        // The next watcher knows it, too. A pause that is longer than the setting is over.
        watcher.kill();
        world.reconfigure("\"2h\"", "\"10s\"");
        let watcher = world.start_watcher();
        until("the probe fails", || world.logged("start ") == 4);
        until("the queue is paused again", || audited(&world, "queue_paused") == 2);
        let paused_at =
            world.audited().iter().rfind(|entry| entry["event"] == "queue_paused").map(|entry| when(entry, "at")).expect("a time");
        std::fs::write(world.agent("well"), "").expect("a file");
        world.reaches("e", "delivered");
        world.reaches("f", "delivered");
        let pause = when(&records(&world, "e")[0], "claimed_at") - paused_at;
        assert!(pause.num_seconds() >= 18, "twice as long: {pause}");
        assert_eq!((summary(&world)["queue"]["state"].as_str(), audited(&world, "queue_resumed")), (Some("open"), 1));
        let log = world.watchers_said();
        for word in ["paused", "probing", "resumed"] {
            assert!(log.contains(word), "{word} is not in the log:\n{log}");
        }
        drop(watcher);
    }

    #[test]
    fn a_round_that_waits_in_a_paused_queue_tells_its_own_failure() {
        let world = world("[ -e $AGENT_DIR/well ] && work || { echo upstream is down >&2; exit 3; }", "", "");
        world.configure("attempts = 4\nbreaker_failures = 2\nbreaker_pause = \"2h\"");
        world.ask_and_answer("a");
        let _watcher = world.start_watcher();
        until("the queue is paused", || summary(&world)["queue"]["state"] == "paused");
        let road =
            until("the queue holds it", || Some(world.run("askbox", &["doctor", "a"]).stdout).filter(|road| road.contains("-> queue ")));
        let rows: Vec<_> = road.lines().filter(|line| line.contains(" attempts")).map(str::trim).collect();
        let failed = |row: &str, n: u32| row.starts_with(&format!("ok attempts    {n} failed: ")) && row.contains("upstream is down");
        assert!(matches!(rows[..], [first, second, "attempts"] if failed(first, 1) && failed(second, 2)), "{road}");
        assert!(road.contains("-> queue       the queue is paused until ") && road.contains("$ relaunch go"), "{road}");
        let status = until("it is queued", || Some(world.ok("relaunch", &["status", "a"])).filter(|status| status.contains(" queued ")));
        assert!(status.contains("; attempt 2 failed: ") && status.contains("upstream is down"), "{status}");
        world.ask_and_answer("b");
        // A person's own command is no part of the queue.
        std::fs::write(world.agent("well"), "").expect("a file");
        world.ok("relaunch", &["a"]);
        world.reaches("b", "delivered");
        assert!(!world.watchers_said().contains("probing"), "{}", world.watchers_said());
    }
}
