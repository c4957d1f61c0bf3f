//! `askbox setup` that is killed at any moment: the next one completes it, or takes all of it back.

use crate::programs::setup::{home, lived_in, tree};
use crate::support::{World, needs, strace};

/// Kills a command at each call of a kind, each time in a new home, until one call is its last. `after` sees the home, and which call it was.
fn killed_at_each(call: &str, step: usize, home: impl Fn() -> World, args: &[&str], after: impl Fn(&World, &str)) {
    for n in (1..).step_by(step) {
        let world = home();
        let inject = format!("inject={call}:signal=KILL:when={n}");
        let strace = strace(&["-f", "-qq", "-o", "/dev/null", "-e", &format!("trace={call}"), "-e", &inject]);
        let killed = crate::support::output(world.wrapped(&strace, "askbox").args(args));
        after(&world, &format!("{args:?}, {call} {n}: {killed:?}"));
        if killed.status.success() {
            break;
        }
    }
}

#[test]
fn a_killed_setup_is_completed_or_taken_back_as_a_whole() {
    needs!("strace");
    for call in ["linkat,renameat2,renameat,rename,link", "mkdirat,mkdir", "fsync,fdatasync"] {
        for (completes, step) in [(true, 8), (false, 5)] {
            let before = tree(&lived_in());
            killed_at_each(call, step, lived_in, &["setup", "--yes"], |world, when| {
                if completes {
                    world.ok("askbox", &["setup", "--yes"]);
                    assert_eq!(world.ok("askbox", &["setup", "--yes"]), "Nothing is to do.\n", "{when}");
                }
                world.ok("askbox", &["setup", "--remove", "--yes"]);
                assert_eq!(tree(world), before, "{when}");
            });
        }
    }
}

#[test]
fn an_empty_home_is_empty_again_wherever_setup_was_killed() {
    needs!("strace");
    let before = tree(&home());
    let set_up = || {
        let world = home();
        world.ok("askbox", &["setup", "--yes", "--only", "config"]);
        world
    };
    let empty_again = |world: &World, when: &str| {
        world.ok("askbox", &["setup", "--remove", "--yes"]);
        assert_eq!(tree(world), before, "{when}");
    };
    for call in ["mkdirat,mkdir", "linkat,renameat2,renameat,rename,link", "unlinkat,unlink,rmdir", "openat"] {
        let step = if call == "openat" { 7 } else { 1 };
        killed_at_each(call, step, home, &["setup", "--yes", "--only", "config"], empty_again);
        killed_at_each(call, step, set_up, &["setup", "--remove", "--yes"], empty_again);
    }
}
