//! A plain program, its supervisor and the watcher are killed at each of its steps. The round is delivered once, and the effect
//! that `askbox once` guards comes at most once. If it may be missing, the next attempt is told.

use std::fs;
use std::process::Command;

use crate::faults::syscalls::at_every_point_of;
use crate::support::files::write_program;
use crate::support::process::is_alive;
use crate::support::{World, kill, needs, until};

/// Does its work in steps. At the step that `~/at` names, the first attempt stops, and says which processes it has: its own and its
/// supervisor's. `~/charges` is the effect, `~/told` says that a call may have been made.
const HOST: &str = r#"#!/bin/sh
case $ASKBOX_RUN in */1) first=1 ;; *) first= ;; esac
step() {
  [ "$first" ] && [ "$(cat ~/at)" = "$1" ] || return 0
  echo "$$ $PPID" > ~/.pids && mv ~/.pids ~/pids
  while [ -e ~/pids ]; do sleep 0.02; done
}
echo "$ASKBOX_RUN" >> ~/launches
step begun
cat > /dev/null
askbox once charge
case $? in
0) step marked
  echo charged >> ~/charges
  step charged ;;
4) echo "$ASKBOX_RUN" >> ~/told ;;
*) exit 1 ;;
esac
echo done
step said
exit 0
"#;

const STEPS: [&str; 4] = ["begun", "marked", "charged", "said"];

/// A world whose workflows `billing-…` are run by the program above, and one of them is answered.
fn world(step: &str) -> World {
    let world = World::new().with_scripted_agent();
    write_program(&world.path("host"), HOST);
    world.configure(&format!(
        "[relaunch]\nbackoff = \"20ms\"\nbackoff_max = \"40ms\"\n[runner.host]\nkind = \"program\"\nprogram = \"{}\"\nworkflows = [\"billing-*\"]\n",
        world.path("host").display()
    ));
    world.make_mailbox();
    fs::write(world.home().join("at"), step).expect("a step");
    world
}

fn count(world: &World, name: &str) -> usize {
    fs::read_to_string(world.home().join(name)).unwrap_or_default().lines().count()
}

/// Waits until the program has come to its step: its pid and its supervisor's.
fn held(world: &World) -> [i32; 2] {
    let pids = until("the program comes to its step", || fs::read_to_string(world.home().join("pids")).ok());
    let pids: Vec<i32> = pids.split_whitespace().map(|pid| pid.parse().expect("a pid")).collect();
    pids.try_into().expect("two pids")
}

#[track_caller]
fn assert_charged_at_most_once(world: &World, when: &str) {
    let (charges, told) = (count(world, "charges"), count(world, "told"));
    assert!(charges <= 1, "{when}: charged {charges} times");
    assert!(charges == 1 || told == 1, "{when}: not charged, and nobody was told");
    world.assert_whole(when);
    let closed = world.rounds("closed", "billing-1");
    assert_eq!((closed.len(), &closed[0]["closed"]["state"]), (1, &"delivered".into()), "{when}");
}

#[test]
fn a_program_killed_at_any_step_charges_at_most_once() {
    for step in STEPS {
        let world = world(step);
        let _watcher = world.watch();
        world.ask_and_answer("billing-1");
        kill(held(&world)[0]);
        world.closed("billing-1", "delivered", 1);
        assert_charged_at_most_once(&world, step);
        assert_eq!(count(&world, "launches"), 2, "{step}");
        // The mark is told wherever there is one.
        assert_eq!(count(&world, "told"), usize::from(step != "begun"), "{step}");
    }
}

#[test]
fn a_supervisor_killed_at_any_step_leaves_no_program_behind() {
    for step in STEPS {
        let world = world(step);
        let _watcher = world.watch();
        world.ask_and_answer("billing-1");
        let [program, supervisor] = held(&world);
        kill(supervisor);
        world.closed("billing-1", "delivered", 1);
        assert_charged_at_most_once(&world, step);
        assert!(!is_alive(program), "{step}: the first program lives");
    }
}

#[test]
fn a_watcher_killed_at_any_step_changes_nothing() {
    for step in STEPS {
        let world = world(step);
        let watcher = world.watch();
        world.ask_and_answer("billing-1");
        held(&world);
        watcher.kill();
        let _next = world.watch();
        fs::remove_file(world.home().join("pids")).expect("it is held");
        world.closed("billing-1", "delivered", 1);
        assert_charged_at_most_once(&world, step);
        assert_eq!((count(&world, "launches"), count(&world, "charges")), (1, 1), "{step}");
    }
}

#[test]
fn an_exec_killed_anywhere_can_be_typed_again() {
    needs!("strace");
    let setup = || {
        let world = world("");
        world.ask_and_answer("billing-1");
        world
    };
    let exec = |world: &World, before: &[String]| -> Command {
        let mut exec = world.wrapped(before, "relaunch");
        exec.args(["exec", "billing-1", "--"]).arg(world.path("host"));
        exec
    };
    at_every_point_of(&setup, "relaunch exec", &exec, |world, when, _| {
        if world.rounds("closed", "billing-1").is_empty() {
            let again = crate::support::output(&mut exec(world, &[]));
            // The receipt may have been there.
            assert!(again.status.success(), "{when}: {}", again.words());
        }
        assert_charged_at_most_once(world, when);
    });
}
