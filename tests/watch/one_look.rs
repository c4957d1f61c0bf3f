//! A command that looks once at a round sets up no file events, which would take longer than the look itself.

use crate::support::{World, needs, output, strace};

/// Whether a call of `relaunch` asks the kernel for file events.
fn asks_for_events(world: &World, args: &[&str]) -> bool {
    let trace = world.path("trace");
    let before = strace(&["-f", "-qq", "-e", "trace=inotify_init,inotify_init1", "-e", "signal=none", "-o", trace.to_str().unwrap()]);
    let out = output(world.wrapped(&before, "relaunch").args(args));
    assert!(out.status.success() && !out.stdout.is_empty(), "{args:?}: {}", out.words());
    std::fs::read_to_string(&trace).unwrap().contains("inotify_init")
}

mod promises {
    use super::*;

    #[test]
    fn only_commands_that_follow_a_round_watch_for_file_events() {
        needs!("strace");
        let world = World::stepping("work");
        world.ask_and_answer("docs");
        world.ok("relaunch", &["docs"]);
        for look in [&["status"][..], &["status", "docs"], &["status", "docs", "--json"], &["events", "docs"], &["logs", "docs"]] {
            assert!(!asks_for_events(&world, look), "{look:?}");
        }
        assert!(asks_for_events(&world, &["logs", "docs", "-f"]));
    }
}
