//! Runs that cannot be launched or have failed: the doctor names the cause, and what mends it.

use super::*;

const BROKEN: &str = "[runner]\ndefault = \"fkae\"\n";

fn broken(world: &World) {
    std::fs::write(world.path(".config/askbox/config.toml"), BROKEN).unwrap();
}

/// The words of the only problem.
#[track_caller]
fn problem(world: &World, kind: &str) -> String {
    finds(world, kind, "");
    findings(world)[0]["problem"].as_str().unwrap().to_owned()
}

#[test]
fn a_single_failure_of_a_run_is_named_with_its_cause() {
    let world = well();
    let agent = std::fs::read_to_string(world.path("agent")).unwrap();
    write_program(&world.path("agent"), &agent.replace("\"result\":\"ok\"", "\"result\":\"SGN_PEND_ONGOING\""));
    answered(&world, "v");
    assert_eq!(world.shell("relaunch v").code(), 1);
    let said = problem(&world, "parked");
    assert!(said.contains("it waits for nothing") && said.contains("let its instructions ask with ask-post"), "{said}");
}

#[test]
fn a_missing_program_is_refused_and_the_round_stays() {
    let world = well();
    answered(&world, "w");
    let agent = std::fs::read_to_string(world.path("agent")).unwrap();
    let missing = || world.sh("mv agent elsewhere");
    missing();
    let named = format!("there is no program `{}`", world.path("agent").display());
    assert!(world.refused(4, "relaunch w").contains(&named) && world.in_mailbox("answered/w.json").exists());
    // A parked round.
    write_program(&world.path("agent"), "#!/bin/sh\nexit 1\n");
    world.sh("chmod +x agent");
    assert_eq!(world.shell("relaunch w").code(), 1);
    missing();
    for command in ["relaunch retry w", "relaunch w"] {
        world.refused(4, command);
        assert!(world.sh("ls m/parked").starts_with("w."), "{command}");
    }
    assert!(world.refused(4, "relaunch retry w").contains(&named));
    write_program(&world.path("agent"), &agent);
    world.sh("chmod +x agent && relaunch retry w");
    assert_eq!(findings(&world), [] as [Value; 0]);
}

#[test]
fn a_program_that_is_not_executable_is_not_said_to_be_missing() {
    let world = well();
    world.sh("chmod -x agent");
    let agent = world.path("agent").display().to_string();
    assert_eq!(problem(&world, "no_runner"), format!("`{agent}` is not executable; permit it: chmod +x {agent}"));
    answered(&world, "w");
    assert!(world.refused(4, "relaunch w").contains(&format!("`{agent}` is not executable")));
    world.sh("ask-answer undo w && ask-answer cancel w");
    finds_and_mends(&world, "no_runner", "runner.claude.program");
}

#[test]
fn a_stub_that_npm_left_is_named_before_the_first_run() {
    let world = well();
    let agent = std::fs::read_to_string(world.path("agent")).unwrap();
    write_program(&world.path("agent"), "echo \"Error: claude native binary not installed.\" >&2\nexit 1\n");
    let said = problem(&world, "no_runner");
    assert!(said.contains("is a text without `#!` in its first line") && said.contains("--ignore-scripts"), "{said}");
    answered(&world, "w");
    assert!(world.refused(4, "relaunch w").contains("is a text without `#!`"), "the run says the same");
    write_program(&world.path("agent"), &agent);
    world.sh("relaunch w");
    assert_eq!(findings(&world), [] as [Value; 0]);
}

#[test]
fn the_doctor_says_once_what_a_wait_for_a_file_waits_for() {
    let world = well();
    world.sh("ask-post -w w --until-file built");
    let said = problem(&world, "stale");
    assert_eq!(said.matches("built").count(), 1, "{said}");
}

mod promises {
    use super::*;

    #[test]
    fn an_unreadable_configuration_is_a_problem_of_every_workflow() {
        let world = well();
        let _watcher = world.watch();
        broken(&world);
        answered(&world, "bw");
        let status = until("the agent is not launched", || Some(world.status("bw")).filter(|status| status["state"] == "orphaned"));
        let why = status["why"].as_str().unwrap();
        assert!(why.contains("the configuration cannot be read") && why.contains("names `fkae`, which has no [runner.fkae]"), "{why}");
        assert!(why.contains("add that section, or use one of: claude"), "{why}");
        assert_eq!((&status["cause"], &status["waits_for"]), (&"configuration".into(), &"operator".into()), "{status:#}");
        let said = world.refused(1, "askbox doctor bw");
        let file = world.path(".config/askbox/config.toml").display().to_string();
        assert!(said.contains(&format!("config: {file}: runner.default: names `fkae`")), "{said}");
        assert!(said.contains(&format!("$ ${{EDITOR:-vi}} {file}\n")) && !said.contains("not checked"), "{said}");
    }

    #[test]
    fn a_runner_of_an_unreadable_configuration_is_not_reported() {
        let world = well();
        broken(&world);
        let file = world.path(".config/askbox/config.toml").display().to_string();
        let said = problem(&world, "config");
        assert!(said.starts_with("runner.default: names `fkae`"), "{said}");
        assert_eq!(world.refused(1, "askbox doctor").matches(&format!("{file}: ")).count(), 1);
    }
}
