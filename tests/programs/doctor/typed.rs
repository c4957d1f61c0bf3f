//! Commands that work when they are typed: what must be mended first stands in front of them.

use super::*;

/// An agent that costs 5 US dollars.
fn costly(world: &World) {
    let agent = AGENT.replace(r#""result":"ok""#, r#""result":"ok","model_usage_since_last_result":{"m":{"costUSD":5}}"#);
    write_program(&world.path("agent"), &agent);
}

#[test]
fn a_name_that_is_taken_does_not_stop_the_doctors_commands() {
    let world = well();
    world.sh("ask-post -w own 'Mine?' && cp m/pending/own.json m/pending/other.json");
    finds_and_mends(&world, "misnamed", "pending/other.json");
    world.sh("echo '{}' > m/closed/x.json && touch -d '1 hour ago' m/closed/x.json && echo '{}' > m/quarantine/x.json");
    let found = findings(&world);
    let stray = found.iter().find(|finding| finding["kind"] == "stray").unwrap();
    world.sh(stray["mend"].as_str().unwrap());
    assert!(!world.in_mailbox("closed/x.json").exists() && world.in_mailbox("quarantine/x.json.1").exists());
}

#[test]
fn a_run_without_its_folder_goes_on_with_the_printed_command() {
    let world = well();
    world.sh("mkdir work && cd work && ask-post -w w 'Go?' -t yes_no && ask-answer w yes && cd .. && rmdir work");
    assert_eq!(world.shell("relaunch w").code(), 1);
    let next = world.shell("askbox doctor w").stdout;
    let mend = finds(&world, "parked", "w");
    assert!(mend.starts_with("mkdir -p ") && next.contains(&format!("Next:\n  $ {mend}\n")), "{mend}: {next}");
    finds_and_mends(&world, "parked", "w");
}

#[test]
fn a_run_at_its_limit_goes_on_once_the_limit_is_raised() {
    let world = well();
    costly(&world);
    let raised = std::fs::read_to_string(world.path(".config/askbox/config.toml")).unwrap();
    configure(&world, "[limits]\nworkflow_cost = 1\n");
    answered(&world, "w");
    world.sh("relaunch w");
    answered(&world, "w");
    assert_eq!(world.shell("relaunch w").code(), 1);
    let mend = finds(&world, "parked", "w");
    assert!(mend.starts_with("${EDITOR:-vi} ") && mend.ends_with(" && relaunch retry w"), "{mend}");
    world.sh(&(editor(&world, &raised) + &mend));
    assert_eq!(findings(&world), [] as [Value; 0]);
}

#[test]
fn a_setup_that_parks_a_run_is_told_with_what_mends_it() {
    let world = well();
    let right = std::fs::read_to_string(world.path(".config/askbox/config.toml")).unwrap();
    let agent = std::fs::read_to_string(world.path("agent")).unwrap();
    write_program(&world.path("agent"), "#!/bin/sh\nexit 1\n");
    world.sh("mkdir work roots && cd work && ask-post -w w 'Go?' -t yes_no && ask-answer w yes");
    assert_eq!(world.shell("relaunch w").code(), 1);
    write_program(&world.path("agent"), &agent);
    let roots = world.path("roots").display().to_string();
    world.sh(&format!("sed -i \"s|attempts = 1|attempts = 1\\ncwd_roots = ['{roots}']|\" .config/askbox/config.toml"));
    assert_eq!(world.shell("relaunch retry w").code(), 1);
    let mend = finds(&world, "parked", "w");
    let said = findings(&world)[0]["problem"].as_str().unwrap().to_owned();
    assert!(said.contains("put the folder back, or add it there") && !said.contains("askbox doctor"), "{said}");
    world.sh(&(editor(&world, &right) + &mend));
    assert_eq!(findings(&world), [] as [Value; 0]);
}

#[test]
fn retry_all_leaves_out_runs_that_a_person_stopped() {
    let world = well();
    write_program(&world.path("agent"), &AGENT.replace("read -r message", "read -r message; while [ ! -e go ]; do sleep 0.05; done"));
    answered(&world, "meant");
    let mut run = Running::start(&mut world.shell_command("exec relaunch meant >/dev/null 2>&1"));
    until("it runs", || world.state("meant") == "running");
    world.sh("relaunch stop meant --now");
    run.wait();
    write_program(&world.path("agent"), "#!/bin/sh\nexit 1\n");
    answered(&world, "failed");
    assert_eq!(world.shell("relaunch failed").code(), 1);
    write_program(&world.path("agent"), AGENT);
    let ran = world.shell("relaunch retry --all");
    assert!(ran.code() == 0 && ran.stderr.contains("1 run that was stopped is left out"), "{}", ran.words());
    assert!(ran.stderr.contains("  relaunch retry meant\n"), "{}", ran.words());
    assert!(world.sh("ls m/closed").contains("failed.") && world.sh("ls m/parked").starts_with("meant."));
    world.sh("relaunch retry meant");
    assert!(world.sh("ls m/parked").is_empty());
}

#[test]
fn the_doctor_of_a_round_tells_a_stopped_watcher_and_the_disk() {
    needs!("mount");
    let world = well();
    world.sh("ask-post -w w 'Go?' -t yes_no");
    let watcher = world.watch();
    let pid = watcher.process.pid();
    world.sh(&format!("kill -STOP {pid}"));
    let said = world.shell("askbox doctor w").stdout;
    assert!(said.contains("watcher_hangs: w: ") && said.contains(&format!("  $ kill -CONT {pid}\n")), "{said}");
    world.sh(&format!("kill -CONT {pid}"));
    assert!(world.sh("askbox doctor w").contains("No problems found."));
    let ran = world.shell("unshare -m sh -c 'mount --bind m m && mount -o remount,bind,ro m && askbox doctor w'");
    assert!(ran.code() == 1 && ran.stdout.contains("read_only: "), "{}", ran.words());
}

#[test]
fn a_broken_configuration_comes_before_the_watcher() {
    let world = well();
    answered(&world, "w");
    std::fs::write(world.path(".config/askbox/config.toml"), "[runner]\ndefault = \"fkae\"\n").unwrap();
    let said = world.shell("askbox doctor w").stdout;
    let next = said.split("Next:\n").nth(1).unwrap_or_else(|| panic!("{said}"));
    assert!(next.starts_with("  $ ${EDITOR:-vi} ") && next.contains("  $ relaunch watch\n"), "{next}");
    assert!(said.contains("First mend the configuration, then start one with: relaunch watch\n"), "{said}");
}

#[test]
fn a_day_without_money_is_told_with_the_answer_and_the_list() {
    let world = well();
    costly(&world);
    configure(&world, "[limits]\nday_cost = 1\n");
    let _watcher = world.watch();
    answered(&world, "first");
    world.closed("first", "delivered", 1);
    world.sh("ask-post -w w 'Go?' -t yes_no");
    for command in ["ask-answer list", "ask-answer w yes"] {
        let said = world.shell(command).stderr;
        assert!(said.contains("limits.day_cost = 1 USD is used up") && said.contains("raise limits.day_cost"), "{command}: {said}");
    }
}

#[test]
fn a_target_that_the_watcher_does_not_know_asks_for_a_restart() {
    needs!("jq");
    let world = well();
    let watcher = world.watch();
    configure(&world, "[notify]\ngrace = \"0s\"\n[target.desk]\nexec = ['true']\n");
    world.sh("ask-post -w two 'Go?' -t yes_no");
    let file = "m/pending/two.json";
    world.sh(&format!(
        "at=$(date -u -d '10 minutes ago' +%FT%T.000Z) && jq --arg at $at '.timestamp = $at' {file} >aged && cp aged {file} && touch -d $at {file}"
    ));
    let found = findings(&world);
    let subjects: Vec<_> = found.iter().map(|found| (found["kind"].as_str().unwrap(), found["subject"].as_str().unwrap())).collect();
    assert_eq!(subjects, [("newer_configuration", "notify.grace"), ("newer_configuration", "target.desk"), ("news_wait", "target desk")]);
    let mend = format!("kill -TERM {} && relaunch watch", watcher.process.pid());
    assert!(found.iter().all(|found| found["mend"] == mend), "{found:#?}");
}

mod promises {
    use super::*;

    #[test]
    fn a_run_ends_although_its_cost_cannot_be_booked() {
        let world = well();
        costly(&world);
        for make in ["mkdir", "mkfifo"] {
            // The test may run over midnight.
            world.sh(&format!("mkdir -p m/costs && {make} m/costs/$(date -u +%F).jsonl m/costs/$(date -u -d tomorrow +%F).jsonl"));
            answered(&world, make);
            world.sh(&format!("timeout 60 relaunch {make}"));
            assert!(world.sh("ls m/running").is_empty() && world.sh("ls m/closed").contains(make));
            let log = world.sh(&format!("relaunch logs {make}"));
            assert!(log.contains("a turn's cost could not be booked: ") && log.contains(".jsonl"), "{log}");
            for finding in findings(&world) {
                assert!(finding["kind"] == "no_file" && finding["subject"].as_str().unwrap().starts_with("costs/"), "{finding}");
                world.sh(finding["mend"].as_str().unwrap());
            }
            assert_eq!(findings(&world), [] as [Value; 0]);
        }
    }

    #[test]
    fn doctor_reports_what_stands_in_the_place_of_a_log() {
        let world = well();
        for (make, subject) in [
            ("mkfifo m/traces.json", "traces.json"),
            ("mkdir m/traces.json", "traces.json"),
            ("mkdir -p m/looked && mkfifo m/looked/s.wake", "looked/s.wake"),
            ("mkdir -p m/runs/w/q/1 && mkfifo m/runs/w/q/1/events.jsonl", "events.jsonl"),
            ("mkfifo m/runs/pipe", "runs/pipe"),
        ] {
            world.sh(make);
            finds_and_mends(&world, "no_file", subject);
        }
    }

    #[test]
    fn doctor_knows_the_folders_that_askbox_makes_among_files() {
        let world = well();
        world.sh("mkdir -p -m 700 m/costs/workflows m/costs/times m/looked/codex");
        assert_eq!(findings(&world), [] as [Value; 0]);
        world.sh("mkfifo m/looked/codex/x");
        finds_and_mends(&world, "no_file", "looked/codex/x");
    }
}
