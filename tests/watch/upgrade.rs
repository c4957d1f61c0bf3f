//! Programs that are replaced while a watcher and runs are at work, as an installation does it: each file by a rename over the old one.

use std::path::{Path, PathBuf};

use crate::support::files::copy_program;
use crate::support::program;
use crate::support::{Watcher, World};

const PROGRAMS: [&str; 5] = ["ask-post", "ask-answer", "checkpoint", "relaunch", "askbox"];

/// Installs the programs into `bin`, whatever is there.
fn install(world: &World) -> PathBuf {
    let bin = world.path("bin");
    std::fs::create_dir_all(&bin).unwrap();
    for name in PROGRAMS {
        let new = bin.join(format!(".{name}.new"));
        copy_program(Path::new(program(name)), &new);
        std::fs::rename(new, bin.join(name)).unwrap();
    }
    bin
}

fn watch(world: &World, bin: &Path) -> Watcher {
    let watcher = world.start_as_watcher(world.any_command(bin.join("relaunch")).arg("watch"));
    watcher.says("watching ");
    watcher
}

/// Whether a process runs a program whose file was replaced.
fn runs_a_replaced_program(pid: i32) -> bool {
    std::fs::read_link(format!("/proc/{pid}/exe")).unwrap().to_string_lossy().ends_with(" (deleted)")
}

#[test]
fn an_answer_during_missing_programs_runs_once_they_are_back() {
    let world = World::stepping("work");
    world.make_mailbox();
    let bin = install(&world);
    let watcher = watch(&world, &bin);
    PROGRAMS.iter().for_each(|name| std::fs::remove_file(bin.join(name)).unwrap());
    world.ask_and_answer("w");
    watcher.says("error: ");
    assert_eq!(world.state("w"), "orphaned");
    install(&world);
    world.reaches("w", "delivered");
    assert_eq!(world.logged("start w/"), 1);
    watcher.stop();
}

#[test]
fn a_supervisor_of_an_earlier_version_starts_its_agent() {
    let world = World::new();
    // It names no lock file. Its agent's program must not be taken for one, and emptied.
    copy_program(Path::new("/bin/echo"), &world.path("agent"));
    let before = std::fs::read(world.path("agent")).unwrap();
    let call = |lock: &str| world.sh(&format!("relaunch __agent $$ {lock} \"$PWD/agent\" hello; true"));
    assert_eq!(call(""), "hello");
    assert_eq!(call("\"$PWD/agent.lock\""), "hello");
    assert!(std::fs::read(world.path("agent")).unwrap() == before && world.path("agent.lock").exists());
}

mod promises {
    use super::*;

    #[test]
    fn processes_at_work_go_on_while_their_programs_are_replaced() {
        let world = World::stepping("work");
        world.make_mailbox();
        let bin = install(&world);
        let old = watch(&world, &bin);
        world.hold("first.spawned");
        world.ask_and_answer("first");
        let [_, supervisor] = world.held("first.spawned");

        install(&world);
        assert!(runs_a_replaced_program(old.process.pid()) && runs_a_replaced_program(supervisor));
        world.hold("second.spawned");
        world.ask_and_answer("second");
        let [_, newer] = world.held("second.spawned");
        assert!(!runs_a_replaced_program(newer), "the old watcher starts the new program");
        world.let_go("first.spawned");
        world.reaches("first", "delivered");

        old.stop();
        let new = watch(&world, &bin);
        world.ask_and_answer("third");
        world.reaches("third", "delivered");
        world.let_go("second.spawned");
        world.reaches("second", "delivered");
        for workflow in ["first", "second", "third"] {
            assert_eq!(world.logged(&format!("start {workflow}/")), 1, "{:?}", world.log());
        }
        assert_eq!(world.logged("violation"), 0);
        new.stop();
    }
}
