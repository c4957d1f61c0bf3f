//! `askbox notify test`.

use crate::support::{World, files};

/// A world whose target `desk` notes what it is told.
fn world_with_desk(script: &str) -> World {
    let world = World::at_home();
    let program = world.path("desk.sh");
    files::write_program(&program, &format!("#!/bin/sh\n{script}\n"));
    std::fs::create_dir_all(world.path(".config/askbox")).expect("a folder");
    std::fs::write(world.path(".config/askbox/config.toml"), format!("[target.desk]\nexec = [\"{}\"]\n", program.display()))
        .expect("a file");
    world
}

const NOTES: &str = "cat >desk.json";
/// Types what has arrived.
const TYPES: &str = "(until [ -s desk.json ]; do sleep 0.05; done; jq -r .title desk.json | sed 's/.*: //') | askbox notify test";

#[test]
fn a_target_that_cannot_be_told_is_an_error_with_its_reason() {
    let world = world_with_desk("exit 3");
    let said = world.refused(1, "askbox notify test </dev/null 2>&1");
    assert!(said.contains("error: target desk:") && said.contains("exit status: 3"), "{said}");
}

#[test]
fn the_last_line_of_a_failed_target_program_is_told() {
    let world = world_with_desk("yes flood | head -c 300000 >&2; sleep 60 >/dev/null & sleep 61 & echo 'no such host' >&2; exit 3");
    let said = world.refused(1, "askbox notify test </dev/null 2>&1");
    assert!(said.contains("exit status: 3: no such host") && !said.contains("flood"), "{said}");
    let doctor = world.shell("askbox doctor");
    assert!(doctor.stdout.contains("exit status: 3: no such host"), "{}", doctor.stdout);
}

#[test]
fn a_target_without_its_program_is_an_error_with_its_key() {
    let world = world_with_desk("");
    world.sh("rm desk.sh");
    let said = world.refused(1, "askbox notify test </dev/null 2>&1");
    assert!(
        said.contains("target desk: cannot run") && said.contains("hint: correct target.desk.exec") && !said.contains("mailbox"),
        "{said}"
    );
}

#[test]
fn a_test_without_a_person_is_not_confirmed_and_no_failure() {
    let world = world_with_desk(NOTES);
    let said = world.refused(1, "askbox notify test </dev/null 2>&1");
    assert!(said.contains("desk: not confirmed"), "{said}");
    let doctor = world.shell("askbox doctor");
    assert!(!doctor.stdout.contains("not_told") && doctor.stdout.contains("Target desk (exec): last told"), "{}", doctor.stdout);
}

#[test]
fn a_test_of_no_or_an_unknown_target_says_what_there_is() {
    let world = world_with_desk(NOTES);
    let said = world.refused(3, "askbox notify test phone 2>&1");
    assert!(said.contains("there is no target `phone`") && said.contains("targets: desk"), "{said}");
    std::fs::write(world.path(".config/askbox/config.toml"), "").expect("a file");
    let said = world.refused(3, "askbox notify test 2>&1");
    assert!(said.contains("nobody to tell") && said.contains("[target.NAME]"), "{said}");
}

#[test]
fn a_senseless_target_in_the_configuration_is_refused_by_key() {
    let world = world_with_desk(NOTES);
    for (toml, words) in [
        ("[target.desk]\nexec = ['true']\ndesktop = true", "target.desk: says more than one way to be told"),
        ("[target.Phone]\ndesktop = true", "target.Phone: is no name of a target"),
        ("[target.hook]\nwebhook = 'example.org'", "target.hook.webhook: is no URL"),
        ("[target.phone]\nntfy = 'https://ntfy.sh'", "target.phone.ntfy: names no topic"),
        (
            "[target.phone]\nntfy = 'https://ntfy.sh/a'\nntfy_replies = 'https://ntfy.sh/a'",
            "target.phone.ntfy_replies: is no topic of its own",
        ),
        ("[notify]\nquiet = '22-7'", "notify.quiet"),
        ("[target.phone]\nevents = ['askd']", "target.phone.events"),
    ] {
        std::fs::write(world.path(".config/askbox/config.toml"), toml).expect("a file");
        let said = world.refused(5, "askbox notify test 2>&1");
        assert!(said.contains(words), "{toml}: {said}");
    }
}

mod promises {
    use super::*;

    #[test]
    fn a_test_is_confirmed_by_its_code_and_the_doctor_says_when() {
        let world = world_with_desk(NOTES);
        let out = world.shell(TYPES);
        assert_eq!(out.code(), 0, "{}", out.words());
        assert!(out.stdout.contains("desk: sent.") && out.stdout.contains("desk: confirmed"), "{}", out.stdout);
        let doctor = world.shell("askbox doctor");
        let says_when = |line: &str| {
            line.contains("Target desk (exec): last told ") && line.contains(" ago, last confirmed ") && line.ends_with(" ago.")
        };
        assert!(doctor.stdout.lines().any(says_when), "{}", doctor.stdout);
    }

    #[test]
    fn a_test_that_nobody_confirms_fails_and_the_doctor_names_it() {
        let world = world_with_desk(NOTES);
        let said = world.refused(1, "printf '00000\\n\\n' | askbox notify test desk 2>&1");
        assert!(said.contains("That is not the code.") && said.contains("nobody confirmed"), "{said}");
        let doctor = world.shell("askbox doctor");
        assert!(doctor.stdout.contains("not_told: target desk: could not be told"), "{}", doctor.stdout);
        assert!(doctor.stdout.contains("$ askbox notify test desk"), "{}", doctor.stdout);
        // The command that the doctor names mends it.
        world.sh("rm desk.json");
        assert_eq!(world.shell(TYPES).code(), 0);
        assert!(!world.shell("askbox doctor").stdout.contains("not_told"));
    }
}
