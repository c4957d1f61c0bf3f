//! Answers that nobody takes up, and runs that ended badly.

use super::*;

/// A process that looks like a watcher is there, and does nothing: it has passed over an answer of 70 seconds.
fn passes_over(world: &World, workflow: &str) -> Running {
    let hangs = Running::start(&mut world.shell_command("umask 077; exec 9>>m/locks/watchers; flock -s 9; exec sleep 600"));
    until("it is there", || report(world)["watcher"].as_bool().filter(|is_there| *is_there));
    answered(world, workflow);
    let file = format!("m/answered/{workflow}.json");
    world.sh(&format!(
        "at=$(date -u -d '70 seconds ago' +%FT%T.000Z) && jq --arg at $at '.answer.at = $at' {file} >aged && cp aged {file} && touch -d $at {file}"
    ));
    hangs
}

#[test]
fn the_doctor_blames_no_watcher_while_the_queue_is_paused() {
    needs!("jq");
    let world = well();
    let _hangs = passes_over(&world, "w");
    world.sh("relaunch pause");
    assert_eq!(finds(&world, "paused", "the queue"), "relaunch go");
    world.sh("relaunch go");
    finds_and_mends(&world, "watcher_hangs", "w");
}

#[test]
fn a_missing_default_runner_is_named_and_no_watcher_blamed() {
    needs!("jq");
    let world = well();
    let agent = world.path("agent");
    // The watcher starts the runs of the other runner, and leaves this answer in its place.
    let routed = format!("[runner.other]\nprogram = '{}'\nworkflows = ['other-*']\n", agent.display());
    std::fs::write(
        world.path(".config/askbox/config.toml"),
        format!("[runner]\ndefault = 'claude'\n[runner.claude]\nprogram = '/nowhere/claude'\n{routed}"),
    )
    .unwrap();
    let _hangs = passes_over(&world, "w");
    let found = findings(&world);
    let of_w = found.iter().find(|found| found["subject"] == "w").unwrap_or_else(|| panic!("{found:#?}"));
    let said = of_w["problem"].as_str().unwrap();
    assert!(said.contains("its runner `claude` cannot be started from here: there is no program `/nowhere/claude`"), "{said}");
    assert!(of_w["kind"] == "unclaimed" && of_w["mend"].as_str().unwrap().contains("config.toml"), "{of_w:#}");
    assert!(found.iter().all(|found| found["kind"] != "watcher_hangs"), "{found:#?}");
    let status = world.sh("relaunch status w");
    assert!(status.contains("its runner `claude` cannot be started from here: there is no program `/nowhere/claude`"), "{status}");
    assert!(status.contains("to do      ${EDITOR:-vi} "), "{status}");
    answered(&world, "other-1");
    let _watcher = world.watch();
    world.closed("other-1", "delivered", 1);
}

#[test]
fn doctor_reports_a_round_whose_claimer_died() {
    needs!("jq");
    let world = well();
    answered(&world, "w");
    world.sh("q=$(jq -r .question_id m/answered/w.json) && mv m/answered/w.json m/running/w.$q.json && touch -d '1 hour ago' m/running/*");
    finds_and_mends(&world, "orphaned", "w");
    assert_eq!(world.sh("relaunch status w --json | jq -r .state"), "delivered");
}

#[test]
fn doctor_reports_an_attempt_that_is_due_and_not_made() {
    let world = well();
    let agent = std::fs::read_to_string(world.path("agent")).unwrap();
    write_program(&world.path("agent"), "#!/bin/sh\nexit 1\n");
    world.sh("sed -i 's/attempts = 1/attempts = 3/' .config/askbox/config.toml");
    answered(&world, "w");
    let running = Running::start(&mut world.shell_command("exec relaunch w >/dev/null 2>&1"));
    until("its back-off", || world.shell("relaunch status w").stdout.contains("retrying"));
    running.kill();
    // It waits for its time, and nobody is there to see to it then.
    assert_eq!(finds(&world, "unclaimed", "w"), "relaunch watch");
    let run = world.sh("ls m/runs/w/*/1/run.json");
    let record = std::fs::read_to_string(world.path(&run)).unwrap();
    std::fs::write(world.path(&run), record.replace("\"retry_at\": \"2", "\"retry_at\": \"1")).unwrap();
    write_program(&world.path("agent"), &agent);
    finds_and_mends(&world, "stuck", "w");
}

#[test]
fn doctor_reports_parked_and_interrupted_runs() {
    let world = well();
    let agent = std::fs::read_to_string(world.path("agent")).unwrap();
    write_program(&world.path("agent"), "#!/bin/sh\nexit 1\n");
    answered(&world, "w");
    assert_eq!(world.shell("relaunch w").code(), 1);
    write_program(&world.path("agent"), &agent);
    assert_eq!(finds(&world, "parked", "w"), "relaunch retry w");
    let run = world.sh("ls m/runs/w/*/1/run.json");
    let record = std::fs::read_to_string(world.path(&run)).unwrap();
    std::fs::write(world.path(&run), record.replace("\"parked\"", "\"interrupted\"")).unwrap();
    finds_and_mends(&world, "interrupted", "w");
}

#[test]
fn doctor_reports_a_run_record_that_cannot_be_read() {
    let world = well();
    answered(&world, "w");
    world.sh(
        "relaunch w && f=$(ls m/closed/w.*) && mv $f m/parked/ && cp m/runs/w/*/1/run.json kept && echo '{' > $(ls m/runs/w/*/1/run.json)",
    );
    let mend = finds(&world, "unreadable", "runs/w/");
    let record = std::fs::read_to_string(world.path("kept")).unwrap();
    let editor = editor(&world, &record);
    world.sh(&(editor + &mend));
    finds(&world, "parked", "w");
}

#[test]
fn what_a_held_queue_refuses_is_suggested_after_its_release() {
    let world = well();
    // Answered, and a crash before the pending copy was removed.
    world.sh("ask-post -w one 'Go?' -t yes_no && cp m/pending/one.json kept && ask-answer one yes && relaunch one && cp kept m/pending/one.json && relaunch pause");
    let found = findings(&world);
    let half_done = found.iter().find(|finding| finding["kind"] == "half_done").unwrap();
    assert_eq!(half_done["mend"], "relaunch go && relaunch -- one");
    world.sh("relaunch go");
    assert_eq!(finds(&world, "half_done", "one"), "relaunch -- one");
}

mod promises {
    use super::*;

    #[test]
    fn doctor_reports_an_answer_that_no_watcher_takes_up() {
        let world = well();
        answered(&world, "w");
        assert_eq!(finds(&world, "unclaimed", "w"), "relaunch watch");
        let _watcher = world.watch();
        until("nothing is left to be mended", || findings(&world).is_empty());
    }

    #[test]
    fn doctor_reports_an_answer_that_the_watcher_has_passed_over() {
        needs!("jq");
        let world = well();
        let hangs = passes_over(&world, "w");
        let (said, pid) = (findings(&world)[0]["problem"].as_str().unwrap().to_owned(), hangs.pid());
        assert!(said.contains(&format!("process {pid} (sleep) hangs, or its log says why; `kill -9 {pid}` ends it")), "{said}");
        assert_eq!(finds(&world, "watcher_hangs", "w"), "relaunch -- w");
        drop(hangs);
        // A watcher that a signal has stopped is told at once.
        let watcher = world.watch();
        world.sh(&format!("kill -STOP {}", watcher.process.pid()));
        until("it has stopped", || (!findings(&world).is_empty()).then_some(()));
        assert_eq!(finds(&world, "watcher_hangs", "the watcher"), format!("kill -CONT {}", watcher.process.pid()));
        finds_and_mends(&world, "watcher_hangs", "the watcher");
    }

    #[test]
    fn a_fresh_or_queued_answer_is_no_sign_of_a_hung_watcher() {
        needs!("jq");
        let world = well();
        let _hangs = passes_over(&world, "w");
        // Signed long ago, accepted now.
        world.sh("touch m/answered/w.json");
        assert_eq!(findings(&world), [] as [Value; 0]);
        world.sh("touch -d '70 seconds ago' m/answered/w.json; sed -i 's/attempts = 1/attempts = 1\\nmax_concurrent = 1/' .config/askbox/config.toml");
        finds(&world, "watcher_hangs", "w");
        write_program(&world.path("agent"), &AGENT.replace("read -r message", "read -r message; while [ ! -e go ]; do sleep 0.05; done"));
        answered(&world, "busy");
        let run = Running::start(&mut world.shell_command("exec relaunch busy >/dev/null 2>&1"));
        until("it runs", || world.state("busy") == "running");
        assert_eq!(findings(&world), [] as [Value; 0]);
        run.kill();
    }
}
