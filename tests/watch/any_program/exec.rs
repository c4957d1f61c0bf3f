//! `relaunch exec`: a person runs a program with an answer, here and once.

use std::fs;

use serde_json::Value;

use super::{inputs, lines, world};
use crate::support::{Running, Signal, World, signal, until};

fn exec(world: &World, script: &str) -> Running {
    Running::start(world.command("relaunch").args(["exec", "docs", "--", "sh", "-c", script]))
}

#[test]
fn what_exec_began_is_left_to_its_person() {
    let world = world("", "true");
    world.ask_and_answer("docs");
    let script = "echo ran >> ~/ran; [ -e ~/go ] || sleep 600";
    let first = exec(&world, script);
    until("it works", || lines(&world, "ran").len() == 1);
    first.kill();
    // A watcher does not run its own agent with what a person's program may have begun.
    let watcher = world.watch();
    let left = world.reaches("docs", "interrupted");
    assert!(left["why"].as_str().unwrap().contains("relaunch exec"), "{left}");
    assert!(world.launches_of("docs").is_empty());
    drop(watcher);
    fs::write(world.home().join("go"), "").unwrap();
    world.sh(&format!("relaunch exec docs -- sh -c '{script}'"));
    assert_eq!((lines(&world, "ran").len(), world.state("docs")), (2, "delivered".into()));
}

#[test]
fn every_end_but_delivered_parks_what_exec_began() {
    for (end, class, words) in [
        ("exit 75", "later", "asks to be started later"),
        ("exit 6", "program", "asked nothing that waits for an answer"),
        ("exit 5", "program", "cannot work with this round"),
        ("exit 2", "program", "cannot work with its arguments"),
        ("exit 127", "program", "exit status: 127"),
        ("kill -9 $$", "program", "signal: 9"),
    ] {
        let world = world("attempts = 3", "true");
        world.ask_and_answer("docs");
        let said = world.refused(1, &format!("relaunch exec docs -- sh -c 'echo ran >> ~/ran; {end}'"));
        assert!(said.contains(words) && said.contains("hint: fix the cause, then: relaunch exec docs -- PROGRAM"), "{end}: {said}");
        let parked = world.status("docs");
        assert_eq!((&parked["state"], &parked["failure"], lines(&world, "ran").len()), (&"parked".into(), &class.into(), 1), "{end}");
        assert_eq!(parked["todo"], "go on: relaunch exec docs -- PROGRAM", "{end}");
    }
}

#[test]
fn exec_ends_for_a_question_and_takes_the_next_answer() {
    let world = world("", "true");
    world.ask_and_answer("docs");
    let asks = "ask-post \"And now?\" -o yes=y -o no=n; touch ~/asked; while [ ! -e ~/go ]; do sleep 0.02; done; exit 6";
    let mut first = exec(&world, asks);
    until("it has asked", || world.home().join("asked").exists());
    // The next answer arrives while the program that asked still runs. It is for the next start.
    world.ok("ask-answer", &["docs", "yes"]);
    assert!(world.refused(4, "relaunch exec docs -- touch ~/two").contains("an earlier answer of docs is being delivered"));
    fs::write(world.home().join("go"), "").unwrap();
    assert!(first.wait().success());
    assert_eq!((world.rounds("closed", "docs").len(), world.state("docs")), (1, "answered".into()));
    world.sh("relaunch exec docs -- sh -c 'cat > ~/inputs; ask-post \"Last one?\"; exit 6'");
    let input = inputs(&world).remove(0);
    assert_eq!((&input["attempt"], &input["document"]["answer"]["value"]), (&1.into(), &"yes".into()));
    // Its question waits for a person, so there is nothing to run.
    world.refused(6, "relaunch exec docs -- touch ~/two");
    assert!(!world.home().join("two").exists());
    assert_eq!(world.rounds("closed", "docs").len(), 2);
}

#[test]
fn control_c_ends_the_program_and_keeps_the_answer() {
    // The first program says that it was asked to end, the second defies it.
    for trap in ["trap 'echo asked > ~/said; exit 0' TERM", "trap '' TERM"] {
        let world = world("", "true");
        if trap.contains("echo") {
            world.reconfigure("grace = \"300ms\"", "grace = \"60s\"");
        }
        world.ask_and_answer("docs");
        let mut first = exec(&world, &format!("{trap}; setsid sleep 600 & echo ran >> ~/ran; while :; do sleep 0.02; done"));
        until("it works", || lines(&world, "ran").len() == 1);
        signal(first.pid(), Signal::INT);
        assert!(!first.wait().success(), "{trap}");
        assert!(world.of_runs().is_empty(), "{trap}: {:?}", world.of_runs());
        let left = world.status("docs");
        assert_eq!(left["state"], "interrupted", "{trap}: {left}");
        assert!(left["todo"].as_str().unwrap().contains("relaunch exec docs -- PROGRAM"), "{left}");
        assert_eq!(lines(&world, "said").len(), usize::from(trap.contains("echo")), "{trap}");
        world.sh("relaunch exec docs -- sh -c 'cat > ~/inputs'");
        assert_eq!((&inputs(&world)[0]["attempt"], world.state("docs")), (&Value::from(2), "delivered".into()), "{trap}");
    }
}

#[test]
fn a_killed_exec_ends_its_program_and_what_that_started() {
    let world = world("", "true");
    world.ask_and_answer("docs");
    let first = exec(&world, "trap '' TERM; setsid sleep 600 & echo $$ $! >> ~/ran; while :; do sleep 0.02; done");
    until("it works", || lines(&world, "ran").len() == 1);
    first.kill();
    // The program ignores the signal that it gets, as the help says.
    assert!(!world.of_runs().is_empty());
    // The next one begins only when nothing of the first is left.
    let lives = "for pid in $(cat ~/ran); do grep -q \"^State:.[^ZX]\" /proc/$pid/status && echo $pid >> ~/left; done";
    world.sh(&format!("relaunch exec docs -- sh -c '{lives}; cat > ~/inputs'"));
    assert!(!world.home().join("left").exists() && world.of_runs().is_empty(), "{:?}", world.of_runs());
    let input = inputs(&world).remove(0);
    assert_eq!((&input["attempt"], &input["earlier"]["why"]), (&2.into(), &"its supervisor died".into()));
}

mod promises {
    use super::*;

    #[test]
    fn exec_claims_runs_and_closes_by_the_exit_status() {
        let world = world("", "exit 1");
        world.ask_and_answer("docs");
        // A wrong program does not take the answer.
        assert!(world.refused(1, "relaunch exec docs -- ./nowhere").contains("nowhere"));
        assert_eq!(world.state("docs"), "answered");
        let said = world.refused(1, "relaunch exec docs -- sh -c 'echo seen; exit 1'");
        assert!(said.contains("relaunch exec docs -- PROGRAM") && said.contains("seen"), "{said}");
        assert_eq!(world.state("docs"), "parked");
        // No watcher goes on with it.
        world.sh("relaunch exec docs -- sh -c 'cat > ~/inputs'");
        assert_eq!(world.state("docs"), "delivered");
        let input = inputs(&world).remove(0);
        assert_eq!((&input["attempt"], &input["earlier"]["exit"]), (&2.into(), &1.into()));
        assert!(world.launches_of("docs").is_empty());
        world.refused(3, "relaunch exec nobody -- true");
        world.refused(2, "relaunch exec docs");
    }

    #[test]
    fn two_starts_at_once_are_one() {
        let world = world("", "true");
        world.ask_and_answer("docs");
        let script = "echo ran >> ~/ran; while [ ! -e ~/go ]; do sleep 0.02; done";
        let mut first = exec(&world, script);
        until("the first one works", || lines(&world, "ran").len() == 1);
        world.refused(4, &format!("relaunch exec docs -- sh -c '{script}'"));
        world.refused(4, "relaunch docs");
        fs::write(world.home().join("go"), "").unwrap();
        assert!(first.wait().success());
        assert_eq!((lines(&world, "ran").len(), world.state("docs")), (1, "delivered".into()));
    }
}
