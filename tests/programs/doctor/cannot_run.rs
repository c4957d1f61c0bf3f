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
fn an_unreadable_configuration_is_a_problem_of_every_workflow() {
    let world = well();
    let _watcher = world.watch();
    broken(&world);
    answered(&world, "bw");
    let status = until("the agent is not launched", || Some(world.status("bw")).filter(|status| status["state"] == "orphaned"));
    let (why, todo) = (status["why"].as_str().unwrap(), status["todo"].as_str().unwrap());
    assert!(why.contains("the configuration cannot be read") && why.contains("names `fkae`, which has no [runner.fkae]"), "{why}");
    assert!(todo.contains("add that section, or use one of: claude"), "{todo}");
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

#[test]
fn a_single_failure_of_a_run_is_named_with_its_cause() {
    let world = well();
    let agent = std::fs::read_to_string(world.path("agent")).unwrap();
    world.sh("mv agent elsewhere");
    answered(&world, "w");
    assert_eq!(world.shell("relaunch w").code(), 1);
    world.sh("mv elsewhere agent");
    let said = problem(&world, "parked");
    assert!(said.starts_with("its run failed and is parked: there is no program `"), "{said}");
    assert!(said.contains("; mend the configuration: askbox doctor (to give it up: relaunch drop w)"), "{said}");
    finds_and_mends(&world, "parked", "w");
    std::fs::write(world.path("agent"), agent.replace("\"result\":\"ok\"", "\"result\":\"SGN_PEND_ONGOING\"")).unwrap();
    answered(&world, "v");
    assert_eq!(world.shell("relaunch v").code(), 1);
    let said = problem(&world, "parked");
    assert!(said.contains("it waits for nothing") && said.contains("let its instructions ask with ask-post"), "{said}");
}

#[test]
fn a_program_that_is_not_executable_is_not_said_to_be_missing() {
    let world = well();
    world.sh("chmod -x agent");
    let agent = world.path("agent").display().to_string();
    assert_eq!(problem(&world, "no_runner"), format!("`{agent}` is not executable; permit it: chmod +x {agent}"));
    answered(&world, "w");
    assert!(world.refused(1, "relaunch w").contains(&format!("`{agent}` is not executable")));
    world.sh("relaunch drop w");
    finds_and_mends(&world, "no_runner", "runner.claude.program");
}

#[test]
fn a_stub_that_npm_left_is_named_before_the_first_run() {
    let world = well();
    let agent = std::fs::read(world.path("agent")).unwrap();
    std::fs::write(world.path("agent"), "echo \"Error: claude native binary not installed.\" >&2\nexit 1\n").unwrap();
    let said = problem(&world, "no_runner");
    assert!(said.contains("is a text without `#!` in its first line") && said.contains("--ignore-scripts"), "{said}");
    answered(&world, "w");
    assert!(world.refused(1, "relaunch w").contains("is a text without `#!`"), "the run says the same");
    std::fs::write(world.path("agent"), agent).unwrap();
    finds_and_mends(&world, "parked", "w");
}

#[test]
fn the_doctor_says_once_what_a_wait_for_a_file_waits_for() {
    let world = well();
    world.sh("ask-post -w w --until-file built");
    let said = problem(&world, "stale");
    assert_eq!(said.matches("built").count(), 1, "{said}");
}
