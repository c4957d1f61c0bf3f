//! The program of the person who answers is killed at any time: the answer counts once or not at all, and no later one is decided by it.

use std::process::Stdio;
use std::time::Duration;

use crate::support::machine::configure;
use crate::support::{Dice, Machine, Running, World, needs, until};

#[test]
fn a_program_killed_while_it_answers_has_answered_or_not() {
    needs!("sshd", "ssh");
    let here = World::new();
    let build = Machine::new(&here, "build");
    configure(&here, &[&build]);
    let mut dice = Dice::new(11);
    let mut arrived = 0;
    for n in 0..12 {
        let workflow = format!("docs-{n}");
        build.world.ok("ask-post", &["-w", &workflow, "Merge?", "-o", "merge=Yes", "-o", "drop=No"]);
        let id = format!("build:{workflow}");
        until("the question is seen", || here.ok("ask-answer", &["list", "--host", "build"]).contains(&id));
        let mut command = here.command("ask-answer");
        let program = Running::start(command.args([&id, "merge"]).stdout(Stdio::null()).stderr(Stdio::null()));
        std::thread::sleep(Duration::from_millis(u64::try_from(dice.roll(600)).unwrap_or(0)));
        program.kill();
        // What was on its way may still arrive: then it is decided like any other.
        let mut is_unsure = false;
        let second = until("somebody is told", || {
            let told = here.run("ask-answer", &[&id, "drop"]);
            // A busy machine may have this answer without a sign of it.
            is_unsure |= told.code() == 6;
            Some(told).filter(|told| ![1, 6].contains(&told.code()))
        });
        let answer = build.world.document(&format!("answered/{workflow}.json"))["answer"].clone();
        match second.code() {
            0 => assert_eq!(answer["value"], "drop", "{second:?}"),
            3 | 4 if is_unsure && answer["value"] == "drop" => {}
            3 | 4 => {
                assert_eq!(answer["value"], "merge", "{second:?}");
                arrived += 1;
            }
            _ => panic!("{second:?}"),
        }
        // The process of the killed program may note its answer only after the second one was told of it.
        until("one answer is noted", || build.world.audit(&workflow) == ["posted", "answered"]);
    }
    eprintln!("{arrived} of 12 answers had arrived when their program was killed");
}
