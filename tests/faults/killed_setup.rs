//! `askbox setup` and `askbox setup --remove` are killed right before each of their system calls that changes anything. Claude Code's
//! settings are then the old ones or the new ones, and the next call completes the work.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::faults::syscalls::changes_of;
use crate::support::{World, files, in_parallel, needs, output};

const SETTINGS: &str = "{\n  \"model\": \"opus\",\n  \"permissions\": { \"allow\": [ \"Read\" ] }\n}\n";

/// A home with settings of Claude Code, and a service manager that only remembers whether the service is on.
fn home() -> World {
    let mut world = World::with_home_apart();
    let on = world.path("work/on");
    let systemctl = format!("#!/bin/sh\ncase \"$2\" in enable) touch {0};; disable) rm -f {0};; is-*) test -e {0};; esac\n", on.display());
    files::write_program(&world.path("bin/systemctl"), &systemctl);
    let path = format!("{}:/usr/bin:/bin", world.path("bin").display());
    world.set_path(path);
    fs::create_dir_all(world.home().join(".claude")).expect("a folder");
    fs::write(world.home().join(".claude/settings.json"), SETTINGS).expect("settings");
    world
}

fn set_up() -> World {
    let world = home();
    world.ok("askbox", &["setup", "--yes"]);
    world
}

fn settings(world: &World) -> String {
    fs::read_to_string(world.home().join(".claude/settings.json")).unwrap_or_default()
}

/// Kills `askbox` with these arguments at each of its changes, in a place made by `setup`.
fn killed(setup: fn() -> World, args: &[&str], after: impl Fn(&World, &str) + Sync) {
    let kills = AtomicUsize::new(0);
    let points = changes_of(&setup(), "askbox", args);
    in_parallel(8, &points, |point| {
        let (world, when) = (setup(), format!("askbox {args:?} killed before {} number {}", point.call, point.n));
        let out = output(world.wrapped(&point.killing(), "askbox").args(args));
        let is_killed = out.status.signal() == Some(9);
        assert!(is_killed || out.status.success(), "{when}: {}", out.words());
        kills.fetch_add(usize::from(is_killed), Ordering::Relaxed);
        after(&world, &when);
    });
    let kills = kills.into_inner();
    eprintln!("askbox {args:?}: killed at {kills} of {} changes", points.len());
    assert!(points.len() >= 20 && kills * 10 >= points.len() * 9, "{kills} of {}", points.len());
}

#[test]
fn a_killed_removal_is_completed_by_the_next_one() {
    needs!("strace");
    let (world, remove) = (set_up(), ["setup", "--remove", "--yes"]);
    let new = settings(&world);
    world.ok("askbox", &remove);
    let old = settings(&world);
    killed(set_up, &remove, |world, when| {
        let now = settings(world);
        assert!(now == old || now == new, "{when}: {now}");
        world.run("askbox", &remove);
        assert_eq!(settings(world), old, "{when}");
        let left = world.sh("cd; find . -path './.claude/skills/askbox/*' -type f; find . -name askbox.service");
        assert_eq!(left, "", "{when}");
    });
}

#[test]
fn a_killed_setup_is_completed_by_the_next_one() {
    needs!("strace");
    let new = settings(&set_up());
    killed(home, &["setup", "--yes"], |world, when| {
        let now = settings(world);
        assert!(now == SETTINGS || now == new, "{when}: {now}");
        world.ok("askbox", &["setup", "--yes"]);
        assert_eq!(settings(world), new, "{when}");
        assert!(world.ok("askbox", &["setup", "--yes"]).contains("Nothing is to do."), "{when}");
    });
}
