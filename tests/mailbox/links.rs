//! Links inside of the mailbox: no program reads, writes or removes anything outside of it through them.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::support::{World, files, needs, output, strace};

/// A folder outside of the mailbox with files of every name that the programs use.
fn outside(world: &World, round: &str) -> std::path::PathBuf {
    let outside = world.path("outside");
    for folder in ["1", "docs/1", &format!("{round}/1"), &format!("docs/{round}/1")] {
        std::fs::create_dir_all(outside.join(folder)).unwrap();
    }
    let question = r#"{"workflow_id": "docs", "question": "SECRET?", "options": {"a": "SECRET"}, "answer": "a"}"#;
    let run = std::fs::read_to_string(world.in_mailbox(format!("runs/docs/{round}/1/run.json"))).unwrap();
    for folder in ["", "1", "docs", "docs/1", round, &format!("docs/{round}/1"), &format!("{round}/1")] {
        for name in ["docs.json", "events.jsonl", "lock", "stderr.log", "waiter", "stop.json", "2026-11-22.jsonl", "synced", "audit.jsonl"]
        {
            std::fs::write(outside.join(folder).join(name), question).unwrap();
        }
        std::fs::write(outside.join(folder).join("run.json"), run.replace("docs", "SECRET")).unwrap();
        std::fs::write(outside.join(folder).join(format!("docs.{round}.json")), question).unwrap();
        std::fs::write(outside.join(folder).join(".tmp0a1b2c3d4e5f"), "SECRET").unwrap();
    }
    outside
}

/// Everything that is known of the files outside: contents, and the times of their last change and of their last reading.
fn state(outside: &Path) -> Vec<(std::path::PathBuf, Vec<u8>, std::time::SystemTime)> {
    let changed = |path: &Path| path.symlink_metadata().unwrap().modified().unwrap();
    let folders = std::process::Command::new("find").arg(outside).output().unwrap();
    let names = String::from_utf8(folders.stdout).unwrap();
    let mut paths: Vec<_> = names.lines().map(std::path::PathBuf::from).collect();
    paths.sort();
    let content = |path: &Path| if path.is_file() { std::fs::read(path).unwrap() } else { Vec::new() };
    paths.iter().map(|path| (path.clone(), content(path), changed(path))).collect()
}

/// A mailbox with one round closed, one in `running/`, one parked, one answered and one pending.
fn lived_in() -> (World, String) {
    let world = World::stepping("work");
    world.ok("checkpoint", &["save", "docs", "--step", "draft"]);
    world.ask_and_answer("docs");
    let round = world.round("docs");
    world.ok("relaunch", &["docs"]);
    world.ok("ask-post", &["-w", "docs", "Again?", "-o", "a=A"]);
    world.ask_and_answer("other");
    (world, round)
}

const COMMANDS: [(&str, &[&str]); 21] = [
    ("ask-post", &["-w", "new", "Merge?", "-o", "a=A"]),
    ("ask-answer", &["list"]),
    ("ask-answer", &["show", "docs"]),
    ("ask-answer", &["docs", "a"]),
    ("ask-answer", &["cancel", "docs"]),
    ("checkpoint", &["get", "docs"]),
    ("checkpoint", &["save", "docs", "--step", "next"]),
    ("checkpoint", &["list"]),
    ("checkpoint", &["rm", "docs"]),
    ("relaunch", &["status"]),
    ("relaunch", &["status", "docs"]),
    ("relaunch", &["logs", "docs"]),
    ("relaunch", &["events", "docs"]),
    ("relaunch", &["stop", "docs"]),
    ("relaunch", &["retry", "docs"]),
    ("relaunch", &["prompt", "docs"]),
    ("relaunch", &["docs"]),
    ("relaunch", &["drop", "docs"]),
    ("askbox", &["tree", "docs"]),
    ("askbox", &["gc", "--keep", "0s"]),
    ("askbox", &["doctor"]),
];

#[test]
fn no_program_follows_a_link_out_of_the_mailbox() {
    let (world, round) = lived_in();
    let outside = outside(&world, &round);
    let before = state(&outside);
    let folders = ["runs/docs", "costs", "checkpoints", "workflows", "awaits/docs", "pending", "locks", "closed", "running", "quarantine"];
    let deep = [format!("runs/docs/{round}"), format!("runs/docs/{round}/1")];
    let in_place: Vec<String> = folders.map(str::to_owned).into_iter().chain(deep).collect();
    let own_files = [
        "pending/docs.json".to_owned(),
        "answered/other.json".to_owned(),
        "checkpoints/docs.json".to_owned(),
        "workflows/docs.json".to_owned(),
        "audit.jsonl".to_owned(),
        format!("closed/docs.{round}.json"),
        format!("runs/docs/{round}/lock"),
        format!("runs/docs/{round}/1/run.json"),
        format!("runs/docs/{round}/1/events.jsonl"),
    ];
    world.sh(&format!("cd {} && cp -a m backup", world.root().display()));
    for place in in_place.iter().chain(&own_files) {
        world.sh(&format!("cd {} && rm -rf m && cp -a backup m && mkdir -p $(dirname m/{place})", world.root().display()));
        let path = world.in_mailbox(place);
        let target = if own_files.contains(place) { outside.join(path.file_name().unwrap()) } else { outside.clone() };
        world.sh(&format!("rm -rf {0} && ln -s {1} {0}", path.display(), target.display()));
        for (program, args) in COMMANDS {
            let out = world.run(program, args);
            let when = format!("{program} {args:?} with {place} as a link");
            assert_eq!(state(&outside), before, "{when} changed something outside: {}", out.words());
            assert!(!out.words().contains("SECRET"), "{when} read a file outside: {}", out.words());
            assert!(matches!(out.status.code(), Some(0..=6)), "{when}: {}", out.words());
        }
    }
}

mod promises {
    use super::*;

    #[test]
    fn a_folder_swapped_with_a_link_leads_nobody_outside() {
        let (world, round) = lived_in();
        let outside = outside(&world, &round);
        let before = state(&outside);
        let places = [world.in_mailbox("checkpoints"), world.in_mailbox("runs/docs"), world.in_mailbox("pending")];
        for path in &places {
            symlink(&outside, path.with_extension("link")).unwrap();
        }
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for path in &places {
                let over = &over;
                scope.spawn(move || {
                    while !over.load(Ordering::Relaxed) {
                        let (here, link) = (path.as_path(), path.with_extension("link"));
                        let _ = rustix::fs::renameat_with(rustix::fs::CWD, here, rustix::fs::CWD, &link, rustix::fs::RenameFlags::EXCHANGE);
                    }
                });
            }
            for n in 0..40 {
                let id = format!("w{n}");
                world.run("ask-post", &["-w", &id, "Merge?", "-o", "a=A"]);
                world.run("checkpoint", &["save", "docs", "--step", &id]);
                world.run("ask-answer", &[&id, "a"]);
                world.run("relaunch", &["logs", "docs"]);
                world.run("askbox", &["gc", "--keep", "0s"]);
            }
            over.store(true, Ordering::Relaxed);
        });
        assert_eq!(state(&outside), before);
    }

    #[test]
    fn a_kernel_without_openat2_follows_no_link_either() {
        needs!("strace");
        for error in ["ENOSYS", "EPERM"] {
            let world = World::stepping("work");
            world.make_mailbox();
            let inject = format!("inject=openat2:error={error}");
            let without = strace(&["-qq", "-f", "-e", "trace=openat2", "-e", &inject, "-e", "signal=none", "-o", "/dev/null"]);
            let run = |program: &str, args: &[&str]| output(world.wrapped(&without, program).args(args));
            for (program, args) in [
                ("checkpoint", &["save", "docs", "--step", "draft"] as &[&str]),
                ("ask-post", &["-w", "docs", "Merge?", "-o", "a=A"]),
                ("ask-answer", &["docs", "a"]),
                ("relaunch", &["docs"]),
            ] {
                let out = run(program, args);
                assert!(out.status.success(), "{error}: {program} {args:?}: {}", out.words());
            }
            assert_eq!(world.state("docs"), "delivered");
            let elsewhere = world.path("elsewhere");
            std::fs::rename(world.in_mailbox("runs/docs"), &elsewhere).unwrap();
            symlink(&elsewhere, world.in_mailbox("runs/docs")).unwrap();
            let before = files(&elsewhere);
            world.run("ask-post", &["-w", "docs", "Again?", "-o", "a=A"]);
            run("ask-answer", &["docs", "a"]);
            let out = run("relaunch", &["docs"]);
            assert!(!out.status.success(), "{error}: {}", out.words());
            assert_eq!(files(&elsewhere), before, "{error}");
        }
    }
}
