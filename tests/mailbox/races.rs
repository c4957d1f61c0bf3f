//! Many commands at once on the same workflow. A document that moves between a look and the next step is a conflict, or is gone. Each
//! command says that in words, with status 4 or 3, and never passes on the system's "No such file or directory".

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::support::{World, feed, in_parallel, needs, strace};

/// The commands of the racers, each again and again. `--keep 0s` removes a round as soon as it is closed.
const RACERS: [&str; 20] = [
    "ask-post Which? -w w -o a=A",
    "ask-post Where? -w w -o a=B --supersede",
    "ask-post --wait 50ms When? -w w",
    "ask-answer w a",
    "ask-answer w -",
    "ask-answer decline w",
    "ask-answer cancel w",
    "ask-answer undo w",
    "ask-answer ask-back w What?",
    "ask-answer cancel w --tree",
    "ask-answer show w",
    "ask-answer edit w",
    "ask-answer list --json",
    "checkpoint save w --step one",
    "checkpoint step w two",
    "checkpoint rm w",
    "checkpoint show w",
    "relaunch prompt w",
    "relaunch status w",
    "askbox gc --keep 0s",
];

/// The length of the race: short in the suite. `ASKBOX_TEST_RACE=60` makes it a minute.
fn length() -> Duration {
    Duration::from_secs(std::env::var("ASKBOX_TEST_RACE").ok().and_then(|s| s.parse().ok()).unwrap_or(4))
}

#[test]
fn commands_that_race_end_with_a_documented_status() {
    let mut world = World::new();
    world.set_env(&[("EDITOR", "echo a >")]);
    world.make_mailbox();
    let end = Instant::now() + length();
    let (ends, unfit) = (Mutex::new(BTreeMap::<(&str, i32), u32>::new()), Mutex::new(Vec::new()));
    in_parallel(RACERS.len(), &RACERS, |racer| {
        while Instant::now() < end {
            let out = world.shell(&format!("echo a | {racer}"));
            *ends.lock().unwrap().entry((racer, out.code())).or_default() += 1;
            let fits = matches!(out.code(), 0 | 3 | 4 | 6) && !out.stderr.contains("os error") && !out.stderr.contains("panicked");
            if !fits {
                unfit.lock().unwrap().push(format!("{racer}: {} {}", out.status, out.stderr));
            }
        }
    });
    for ((racer, code), times) in &*ends.lock().unwrap() {
        eprintln!("{times:6} × status {code}: {racer}");
    }
    let unfit = unfit.into_inner().unwrap();
    assert!(unfit.is_empty(), "{} of these: {unfit:#?}", unfit.len());
}

/// Commands on the workflow `w` with its question pending, and on `done` with its answer given. Each finds what it looks for missing.
const STEPS: [&str; 14] = [
    "ask-post Which? -w w",
    "ask-post Which? -w w --supersede",
    "ask-post Which? -w done",
    "ask-answer w a",
    "ask-answer w -",
    "ask-answer decline w",
    "ask-answer cancel w",
    "ask-answer show w",
    "ask-answer done b",
    "checkpoint save w --step one",
    "checkpoint step w two",
    "checkpoint rm w",
    "relaunch prompt done",
    "relaunch status done",
];

#[test]
fn a_document_gone_at_any_step_is_told_in_words() {
    needs!("strace");
    let set_up = || {
        let world = World::new();
        world.ok("checkpoint", &["save", "w", "--step", "one"]);
        world.ok("ask-post", &["-w", "w", "How?", "-o", "a=A"]);
        world.ask_and_answer("done");
        world
    };
    let traced = |world: &World, options: &[&str], command: &str| {
        let (program, args) = command.split_once(' ').expect("arguments");
        let mut command = world.wrapped(&strace(options), program);
        feed(command.args(args.split(' ')), b"a")
    };
    in_parallel(8, &STEPS, |command| {
        let world = set_up();
        let trace = world.path("trace");
        traced(&world, &["-qq", "-f", "-e", "trace=openat2,renameat2", "-o", trace.to_str().unwrap()], command);
        let trace = std::fs::read_to_string(trace).unwrap();
        for call in ["openat2", "renameat2"] {
            // A path that is created is not missing. A lock is not a document.
            let is_document = |line: &str| line.contains(".json\"") && !line.contains("O_CREAT");
            let calls = trace.lines().filter(|line| line.contains(&format!("{call}(")));
            for n in calls.enumerate().filter(|(_, line)| is_document(line)).map(|(n, _)| n + 1) {
                let world = set_up();
                let inject = format!("inject={call}:error=ENOENT:when={n}");
                let out = traced(&world, &["-qq", "-f", "-e", &format!("trace={call}"), "-e", &inject, "-o", "/dev/null"], command);
                let fits = matches!(out.code(), 0 | 3 | 4) && !out.stderr.contains("os error") && !out.stderr.contains("panicked");
                assert!(fits, "{command}: {call} number {n}: {out:?}");
                world.assert_whole(command);
            }
        }
    });
}
