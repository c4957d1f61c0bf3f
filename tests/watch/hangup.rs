//! A watcher whose terminal is closed.

use crate::support::{Running, Signal, World, signal, until};

/// A watcher in a shell script, and its log.
fn watcher(world: &World, before: &str) -> (Running, impl Fn() -> String) {
    let log = world.path("log");
    let start = format!("{before} relaunch watch 2>{}", log.display());
    let watcher = Running::start(world.any_command("sh").env("PATH", world.path_with_programs()).args(["-c", &start]));
    let log = move || std::fs::read_to_string(&log).unwrap_or_default();
    until("the watcher watches", || log().contains("watching"));
    (watcher, log)
}

#[test]
fn a_watcher_without_nohup_ends_with_its_terminal() {
    let world = World::new();
    world.make_mailbox();
    // The tests themselves may run under nohup.
    let (mut watcher, log) = watcher(&world, "exec env --default-signal=HUP");
    signal(watcher.pid(), Signal::HUP);
    assert!(watcher.wait().success());
    assert!(log().contains("stopped; runs go on"), "{}", log());
}

mod promises {
    use super::*;

    #[test]
    fn a_nohup_watcher_goes_on_when_its_terminal_is_closed() {
        let world = World::new();
        world.make_mailbox();
        let (watcher, log) = watcher(&world, "trap '' HUP; exec");
        signal(watcher.pid(), Signal::HUP);
        world.sh("ask-post How? -w w");
        until("the watcher goes on", || log().contains("asked"));
    }
}
