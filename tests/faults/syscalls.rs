//! Kills a program right before each of its system calls that changes or opens anything, one after the other. `strace` counts the calls
//! and kills.

use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::{Outcome, World, in_parallel, output, points_of_every_run, strace};

const CALLS: [&str; 20] = [
    "open", "openat", "openat2", "write", "fsync", "fdatasync", "rename", "renameat", "renameat2", "link", "linkat", "unlink", "unlinkat",
    "mkdir", "mkdirat", "flock", "fchmod", "chmod", "utimensat", "ftruncate",
];

/// One place to be killed at: before the `n`th call of this kind.
pub(crate) struct Point {
    pub(crate) call: &'static str,
    pub(crate) n: usize,
}

impl Point {
    /// The words that run a program and kill it at this point.
    pub(crate) fn killing(&self) -> Vec<String> {
        let (trace, inject) = (format!("trace={}", self.call), format!("inject={}:signal=KILL:when={}", self.call, self.n));
        strace(&["-qq", "-e", &trace, "-e", &inject, "-e", "signal=none", "-o", "/dev/null"])
    }

    /// True if the call changes something. Calls that open a file are left out: a program that looks for the processes of a run opens more
    /// files on a machine with more processes.
    fn changes(&self) -> bool {
        !self.call.starts_with("open")
    }
}

/// Makes the command of a program in a place. The words stand before the program: those of `strace`.
pub(crate) type Program<'a> = dyn Fn(&World, &[String]) -> Command + Sync + 'a;

/// Every point of a program that runs in a place made by `setup`.
fn points(setup: &dyn Fn() -> World, program: &Program<'_>) -> Vec<Point> {
    points_of_every_run(|| points_of_one_run(&setup(), program))
}

fn points_of_one_run(world: &World, program: &Program<'_>) -> Vec<Point> {
    let trace = world.path("trace");
    let set = format!("trace={}", CALLS.join(","));
    let before = strace(&["-qq", "-e", &set, "-e", "signal=none", "-o", trace.to_str().expect("a path")]);
    let out = output(&mut program(world, &before));
    assert!(out.status.success(), "{}", out.words());
    let text = std::fs::read_to_string(&trace).expect("a trace");
    let count = |call: &str| text.lines().filter(|l| l.starts_with(&format!("{call}("))).count();
    CALLS.iter().flat_map(|call| (1..=count(call)).map(|n| Point { call, n })).collect()
}

/// The points of one run of a program at which it changes something.
#[cfg(feature = "askbox")]
pub(crate) fn changes_of(world: &World, program: &str, args: &[&str]) -> Vec<Point> {
    let command = |world: &World, before: &[String]| {
        let mut command = world.wrapped(before, program);
        command.args(args);
        command
    };
    points_of_one_run(world, &command).into_iter().filter(Point::changes).collect()
}

/// Runs a program that is killed at that point. Whether it was: threads may have it a call more or less.
fn run_killed(world: &World, point: &Point, program: &Program<'_>) -> (Outcome, bool) {
    let out = output(&mut program(world, &point.killing()));
    let killed = out.status.signal() == Some(9);
    assert!(killed || out.status.success(), "it neither died nor succeeded at {} {}: {}", point.call, point.n, out.words());
    (out, killed)
}

/// Kills a program at each of its points in a fresh place; `after` looks at what is left.
pub(crate) fn at_every_point(
    setup: &(dyn Fn() -> World + Sync),
    program: &str,
    args: &[&str],
    after: impl Fn(&World, &str, &Outcome) + Sync,
) {
    let command = |world: &World, before: &[String]| {
        let mut command = world.wrapped(before, program);
        command.args(args);
        command
    };
    at_every_point_of(setup, program, &command, after);
}

/// The same for a program that needs more than arguments. `name` is its name in messages.
pub(crate) fn at_every_point_of(
    setup: &(dyn Fn() -> World + Sync),
    name: &str,
    program: &Program<'_>,
    after: impl Fn(&World, &str, &Outcome) + Sync,
) {
    let points = points(setup, program);
    let (changes, opens) = (AtomicUsize::new(0), AtomicUsize::new(0));
    in_parallel(12, &points, |point| {
        let world = setup();
        let (out, killed) = run_killed(&world, point, program);
        if point.changes() { &changes } else { &opens }.fetch_add(usize::from(killed), Ordering::Relaxed);
        let when = format!("{name} killed before {} number {}", point.call, point.n);
        world.assert_whole(&when);
        after(&world, &when, &out);
        world.assert_whole(&when);
        assert_eq!(world.of_runs(), [], "{when}: processes of runs live");
    });
    let (changes, opens) = (changes.into_inner(), opens.into_inner());
    let all_changes = points.iter().filter(|point| point.changes()).count();
    let reached =
        format!("{name}: killed at {changes} of {all_changes} changes, and at {opens} of {} opened files", points.len() - all_changes);
    eprintln!("{reached}");
    assert!(changes * 10 >= all_changes * 9 && opens * 2 >= points.len() - all_changes, "{reached}");
}
