//! An agent that waits for an event, a file or a time, and for no person: the event itself answers.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Running, World, files, names, needs, strace, until};

fn world() -> World {
    let world = World::stepping("work");
    world.make_mailbox();
    world
}

/// The answer of a workflow's only round, once that was delivered.
fn answer(world: &World, workflow: &str) -> Value {
    world.closed(workflow, "delivered", 1)[0]["answer"].clone()
}

/// Everything that agents were told.
fn all_told(world: &World) -> String {
    let told = names(&world.path("agent")).into_iter().filter(|name| name.starts_with("told."));
    told.map(|name| std::fs::read_to_string(world.agent(&name)).expect("a message")).collect()
}

fn path(world: &World, name: &str) -> String {
    world.work().join(name).display().to_string()
}

fn make(world: &World, name: &str) {
    std::fs::write(world.work().join(name), "not read").expect("a file");
}

#[test]
fn a_person_who_is_first_decides_and_the_event_changes_nothing() {
    let world = world();
    let _watcher = world.watch();
    for workflow in ["says", "declines", "cancels"] {
        world.ok("ask-post", &["-w", workflow, "--until-file", "built"]);
        world.reaches(workflow, "waiting");
    }
    world.ok("ask-answer", &["says", "do not wait, go on"]);
    world.ok("ask-answer", &["decline", "declines"]);
    world.ok("ask-answer", &["cancel", "cancels"]);
    make(&world, "built");
    assert_eq!(answer(&world, "says")["value"], "do not wait, go on");
    assert_eq!(answer(&world, "declines")["outcome"], "declined");
    let told = all_told(&world);
    assert!(told.contains("What it waited for has not come, but the user answered: do not wait, go on"), "{told}");
    assert!(told.contains("A person has ended this wait before what it waited for came."), "{told}");
    // A later wait for the same file shows that the watcher has seen it.
    world.ok("ask-post", &["-w", "later", "--until-file", "built"]);
    answer(&world, "later");
    assert_eq!(world.closed("cancels", "withdrawn", 1)[0].get("answer"), None);
    for workflow in ["says", "declines", "cancels"] {
        assert_eq!(world.rounds("closed", workflow)[0].get("late_answers"), None, "{workflow}");
    }
    assert_eq!(world.logged("start "), 3, "{:#?}", world.log());
    // A person who comes after the event is late, not second.
    let late = world.run("ask-answer", &["later", "stop"]);
    assert_eq!(late.code(), 4);
    assert!(late.stderr.contains("answered by the event that it waited for before you answered; your answer is kept"), "{}", late.stderr);
}

#[test]
fn a_time_limit_that_is_over_first_does_what_the_asker_said() {
    let world = world();
    let _watcher = world.watch();
    let post = |workflow: &str, more: &[&str]| {
        world.ok("ask-post", &[&["-w", workflow, "--until-file", "built", "--timeout", "1s"], more].concat())
    };
    post("told", &[]);
    post("default", &["--default", "build it yourself"]);
    post("cancel", &["--on-expiry", "cancel"]);
    post("keep", &["--on-expiry", "keep"]);
    let in_vain = format!("the file {} did not come in time", path(&world, "built"));
    for (workflow, value) in [("told", in_vain.as_str()), ("default", "build it yourself")] {
        let given = answer(&world, workflow);
        assert_eq!((&given["by"], &given["value"]), (&json!("default"), &json!(value)));
    }
    world.closed("cancel", "expired", 1);
    until("it is noted", || world.audit("keep").contains(&"overdue".to_owned()));
    let waits = world.status("keep");
    assert_eq!(waits["state"], "waiting", "{waits}");
    assert!(waits["why"].as_str().unwrap().contains("in vain since"), "{waits}");
    make(&world, "built");
    assert_eq!(answer(&world, "keep")["by"], "event");
    // A time of one's own that comes before the limit is the answer.
    world.ok("ask-post", &["-w", "time", "--until", "1s", "--timeout", "1d"]);
    assert_eq!(answer(&world, "time")["by"], "event");
    world.ok("ask-post", &["-w", "limit", "--until", "1d", "--timeout", "1s"]);
    assert_eq!(answer(&world, "limit")["by"], "default");
}

#[test]
fn the_next_watcher_finds_what_came_while_none_ran() {
    let world = world();
    let watcher = world.watch();
    world.ok("ask-post", &["-w", "file", "--until-file", "built"]);
    world.reaches("file", "waiting");
    watcher.kill();
    // Their dates would come while the watcher still runs, on a slow machine.
    world.ok("ask-post", &["-w", "limit", "--until-file", "built", "--timeout", "1s"]);
    world.ok("ask-post", &["-w", "time", "--until", "1s"]);
    make(&world, "built");
    let over = Instant::now() + Duration::from_millis(1500);
    until("both dates have come", || Instant::now() > over);
    let _watchers = [world.watch(), world.watch()];
    // The file is there, so the agent is not told that it did not come, although the limit is over as well.
    for workflow in ["file", "limit", "time"] {
        let round = &world.closed(workflow, "delivered", 1)[0];
        assert_eq!((&round["answer"]["by"], round.get("late_answers")), (&json!("event"), None), "{round}");
    }
    assert_eq!((world.logged("start "), world.logged("violation")), (3, 0), "{:#?}", world.log());
}

#[test]
fn an_earlier_answer_goes_first_and_then_the_event() {
    let world = world();
    world.hold("w.began");
    world.ask_and_answer("w");
    let _watcher = world.watch();
    world.held("w.began");
    make(&world, "built");
    world.ok("ask-post", &["-w", "w", "--until-file", "built"]);
    world.appears("answered/w.json");
    world.let_go("w.began");
    let rounds = world.closed("w", "delivered", 2);
    assert_eq!(rounds.iter().filter(|r| r["answer"]["by"] == "event").count(), 1);
}

#[test]
fn the_folder_may_come_later_and_no_file_events_are_needed() {
    let world = world();
    let _watcher = world.start_as_watcher(world.command("relaunch").args(["watch", "--poll", "200ms"]));
    world.ok("ask-post", &["-w", "w", "--until-file", "out/deep/built"]);
    world.reaches("w", "waiting");
    std::fs::create_dir_all(world.work().join("out/deep")).expect("folders");
    make(&world, "out/deep/built");
    assert_eq!(answer(&world, "w")["by"], "event");
}

#[test]
fn whatever_the_path_leads_to_is_never_opened() {
    needs!("strace");
    let world = world();
    world.sh(
        "mkfifo a-fifo; ln -s a-loop a-loop; ln -s nowhere a-dangling; mkdir shut; touch shut/secret; ln -s \"$(pwd)/shut/secret\" a-link",
    );
    let trace = world.path("trace");
    let all = strace(&["-f", "-qq", "-e", "trace=open,openat,openat2", "-e", "signal=none", "-o", trace.to_str().unwrap()]);
    let mut watch = world.wrapped(&all, "relaunch");
    let watcher = world.start_as_watcher(watch.args(["watch", "--poll", "200ms"]));
    watcher.says("watching ");
    for (workflow, file) in [("loop", "a-loop"), ("dangling", "a-dangling"), ("none", "a-fifo/none")] {
        world.ok("ask-post", &["-w", workflow, "--until-file", file]);
    }
    for (workflow, file) in [("fifo", "a-fifo"), ("device", "/dev/zero"), ("link", "a-link"), ("mailbox", "m/audit.jsonl")] {
        world.ok("ask-post", &["-w", workflow, "--until-file", file]);
        assert_eq!(answer(&world, workflow)["by"], "event", "{file}");
    }
    for workflow in ["loop", "dangling", "none"] {
        assert_eq!(world.state(workflow), "waiting");
    }
    std::fs::write(world.work().join("nowhere"), "").expect("a file");
    assert_eq!(answer(&world, "dangling")["by"], "event");
    drop(watcher);
    let opened = std::fs::read_to_string(&trace).unwrap();
    let names = ["a-fifo", "a-loop", "secret", "a-link", "zero"].map(|file| format!("/{file}\""));
    let opens: Vec<_> = opened.lines().filter(|l| names.iter().any(|name| l.contains(name)) && !l.contains("O_PATH")).collect();
    assert!(opens.is_empty() && opened.contains("locks/synced"), "{opens:#?}");
}

#[test]
fn a_hanging_filesystem_holds_up_only_its_own_wait() {
    needs!("strace");
    let world = world();
    let hung = path(&world, "hung");
    let before = strace(&[
        "-f",
        "-qq",
        "-P",
        &hung,
        "-e",
        "trace=statx",
        "-e",
        "inject=statx:delay_enter=600s",
        "-e",
        "signal=none",
        "-o",
        "/dev/null",
    ]);
    let watcher = world.start_watcher_behind(&before);
    watcher.says("watching ");
    world.ok("ask-post", &["-w", "hung", "--until-file", "hung", "--timeout", "60s"]);
    world.reaches("hung", "waiting");
    make(&world, "built");
    world.ok("ask-post", &["-w", "other", "--until-file", "built"]);
    assert_eq!(answer(&world, "other")["by"], "event");
    assert_eq!(answer(&world, "hung")["by"], "default");
    watcher.says("hung: the filesystem of ");
    // An asker that waits itself keeps to its own limit.
    let waits = ["-w", "mine", "--until-file", "hung", "--wait", "1s"];
    let printed = world.path("printed");
    let file = std::fs::File::create(&printed).expect("a file");
    let _asker = Running::start(world.wrapped(&before, "ask-post").args(waits).stdout(file));
    until("it has posted", || std::fs::read_to_string(&printed).is_ok_and(|text| text == "QUESTION_POSTED:mine\n"));
}

#[test]
fn a_wait_by_hand_is_answered_and_a_senseless_one_quarantined() {
    let world = world();
    let _watcher = world.watch();
    let write = |workflow: &str, until: &str| {
        let question = format!(r#"{{"workflow_id":"{workflow}","question":"Built?","until":{until}}}"#);
        world.forge_question(workflow, &serde_json::from_str(&question).unwrap());
    };
    write("w", &format!(r#"{{"file":"{}"}}"#, path(&world, "built")));
    world.reaches("w", "waiting");
    make(&world, "built");
    assert_eq!(answer(&world, "w")["by"], "event");
    write("runs", r#"{"command":"rm -r /"}"#);
    assert!(world.reason("runs.json").contains("until"));
}

#[test]
fn a_wait_notifies_nobody_and_counts_as_no_question() {
    let world = world();
    files::write_program(&world.path("notify.sh"), "#!/bin/sh\necho \"$1 $ASKBOX_WORKFLOW_ID\" >>\"$AGENT_DIR/notified\"\n");
    let metrics = world.path("metrics");
    world.configure(&format!(
        "[notify]\ngrace = \"0s\"\n[target.command]\nexec = [\"{}\"]\n[metrics]\nfile = \"{}\"\n",
        world.path("notify.sh").display(),
        metrics.display()
    ));
    let _watcher = world.watch();
    world.ok("ask-post", &["-w", "w", "--until-file", "built", "--timeout", "1s", "--on-expiry", "keep"]);
    until("it is overdue", || world.audit("w").contains(&"overdue".to_owned()));
    world.ok("ask-post", &["-w", "q", "For you?"]);
    let notified = || std::fs::read_to_string(world.agent("notified")).unwrap_or_default();
    until("the question is told", || notified().contains("asked q"));
    assert_eq!(notified(), "asked q\n");
    let counts = |state: &str, n: u32| {
        std::fs::read_to_string(&metrics).unwrap_or_default().contains(&format!("askbox_rounds{{state=\"{state}\"}} {n}\n"))
    };
    until("the numbers are there", || counts("pending", 1) && counts("waiting", 1));
    make(&world, "built");
    answer(&world, "w");
    until("it waits no longer", || counts("waiting", 0));
    assert_eq!(names(&world.in_mailbox("timers")), [""; 0], "no timer is left");
}

#[test]
fn the_asker_may_wait_for_the_event_itself() {
    let world = world();
    make(&world, "built");
    let waited = world.ok("ask-post", &["-w", "there", "--until-file", "built", "--wait", "60s"]);
    assert_eq!(waited, format!("{}\n", path(&world, "built")));
    let time = world.run("ask-post", &["-w", "time", "--until", "1s", "--wait", "60s", "--json"]).ok().json();
    assert_eq!((&time["state"], &time["by"]), (&json!("answered"), &json!("event")));
    let posted = world.ok("ask-post", &["-w", "never", "--until-file", "never", "--wait", "1s"]);
    assert_eq!(posted, "QUESTION_POSTED:never\n");
    let _watcher = world.watch();
    let began = Instant::now();
    let comes = world
        .shell("(while ! [ -e m/pending/comes.json ]; do sleep 0.1; done; touch later) & ask-post -w comes --until-file later --wait 100s");
    assert!(comes.stdout.ends_with("/later\n") && began.elapsed() < Duration::from_secs(50), "{comes:?}");
    for workflow in ["there", "time", "comes"] {
        assert_eq!(answer(&world, workflow)["by"], "event");
    }
    assert_eq!(world.logged("start "), 0, "nobody else was launched: {:#?}", world.log());
}

mod promises {
    use super::*;

    #[test]
    fn a_file_that_appears_answers_and_the_agent_hears_by_what() {
        let world = world();
        let _watcher = world.watch();
        // The path may be relative, and is resolved where it is named.
        world.ok("ask-post", &["-w", "w", "--until-file", "./built"]);
        let waits = world.reaches("w", "waiting");
        assert_eq!(waits["why"], "not for you", "{waits}");
        world.ok("ask-post", &["-w", "v", "--until-file", "built"]);
        world.reaches("v", "waiting");
        let began = Instant::now();
        make(&world, "built");
        let value = path(&world, "built");
        let given = answer(&world, "v");
        assert!(began.elapsed() < Duration::from_secs(50), "the next look around has found it, not the file's own event");
        assert_eq!((&given["by"], &given["channel"], &given["value"]), (&json!("event"), &json!("file"), &json!(value)));
        let told = all_told(&world);
        assert!(
            told.contains(&format!("What it waited for has come: the file {value} is there. No person answered or decided anything.")),
            "{told}"
        );
        world.audit_is("v", &["posted", "answered", "claimed", "delivered"]);
    }

    #[test]
    fn a_file_that_is_there_when_the_wait_is_posted_answers_it() {
        let world = world();
        make(&world, "built");
        let _watcher = world.watch();
        world.ok("ask-post", &["-w", "w", "--until-file", "built"]);
        assert_eq!(answer(&world, "w")["by"], "event");
        // A folder counts as well.
        world.ok("ask-post", &["-w", "v", "--until-file", "."]);
        assert_eq!(answer(&world, "v")["value"], world.work().display().to_string());
    }

    #[test]
    fn a_time_that_comes_answers_and_so_does_one_that_has_gone_by() {
        let world = world();
        let _watcher = world.watch();
        world.ok("ask-post", &["Look at the deployment again", "-w", "soon", "--until", "1s"]);
        let at = world.closed("soon", "delivered", 1)[0]["until"]["at"].clone();
        let given = answer(&world, "soon");
        assert_eq!((&given["by"], &given["channel"], &given["value"]), (&json!("event"), &json!("time"), &at));
        assert!(given["at"].as_str() >= at.as_str(), "answered before its time: {given}");
        world.sh(r#"echo '{"until": {"at": "2020-01-01T00:00:00+01:00"}}' | ask-post -w past --file -"#);
        assert_eq!(answer(&world, "past")["value"], "2019-12-31T23:00:00.000Z");
        // In UTC the time lies before the first year that can be written. Made by hand, as another program may.
        for (workflow, fields) in [("ancient", r#""until":{"at":"DATE"}"#), ("over", r#""default":"d","expires_at":"DATE""#)] {
            let fields = fields.replace("DATE", "0000-01-01T00:00:00+23:59");
            let question = format!(r#"{{"workflow_id":"{workflow}","question":"?",{fields}}}"#);
            world.forge_question(workflow, &serde_json::from_str(&question).unwrap());
        }
        assert_eq!(answer(&world, "ancient")["by"], "event");
        assert_eq!(answer(&world, "over")["value"], "d");
        world.ok("ask-post", &["-w", "far", "--until", "2100-01-01T00:00:00Z"]);
        world.reaches("far", "waiting");
    }
}
