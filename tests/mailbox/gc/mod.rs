//! `askbox gc`: what goes, what never goes, and that nothing is lost beside it. That a killed one leaves nothing half visible is
//! in `tests/faults/killed_at_every_syscall.rs`.

mod archived;
mod asked_in;
mod beside;
mod stays;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::support::{World, files, names, needs, output, strace};
use serde_json::{Value, json};

const DAY: u64 = 86_400;

/// A mailbox with a workflow `first`, which was withdrawn just now.
fn world() -> World {
    let world = World::stepping("work");
    world.make_mailbox();
    world
}

/// Asked, answered and delivered; returns the round.
fn deliver(world: &World, id: &str) -> String {
    world.ok("ask-post", &["-w", id, "Merge?", "-o", "a=A", "-o", "b=B"]);
    let round = world.round(id);
    world.ok("ask-answer", &[id, "a"]);
    world.ok("relaunch", &[id]);
    assert!(closed(world, id, &round).exists());
    round
}

fn closed(world: &World, id: &str, round: &str) -> PathBuf {
    world.in_mailbox(format!("closed/{id}.{round}.json"))
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))).expect("JSON")
}

fn change(path: &Path, change: impl FnOnce(&mut Value)) {
    let mut document = json(path);
    change(&mut document);
    std::fs::write(path, document.to_string()).expect("writable");
}

/// The round was over, and its workflow's checkpoint was saved, so many days ago.
fn age(world: &World, id: &str, round: &str, days: u64) {
    let then = SystemTime::now() - Duration::from_secs(days * DAY);
    let path = closed(world, id, round);
    let text = |at: SystemTime| chrono::DateTime::<chrono::Utc>::from(at).to_rfc3339_opts(chrono::SecondsFormat::Millis, true);
    change(&path, |d| {
        d["closed"]["at"] = text(then).into();
        d["timestamp"] = text(then - Duration::from_secs(60)).into();
        if d["answer"].is_object() {
            d["answer"]["at"] = text(then - Duration::from_secs(30)).into();
        }
    });
    for path in [path, world.in_mailbox(format!("checkpoints/{id}.json"))] {
        if let Ok(file) = std::fs::File::options().write(true).open(path) {
            file.set_modified(then).expect("a date");
        }
    }
}

fn gc(world: &World, args: &[&str]) -> Value {
    let out = world.run("askbox", &[&["gc", "--json"], args].concat());
    assert!(out.status.success(), "{args:?}: {}", out.words());
    serde_json::from_str(&out.stdout).expect("a report")
}

/// Every file and every folder of the mailbox but the logs and locks of a look.
fn everything(world: &World) -> BTreeMap<PathBuf, Vec<u8>> {
    fn walk(folder: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let kind = entry.file_type().expect("a kind");
            let content = if kind.is_file() { std::fs::read(&path).expect("readable") } else { Vec::new() };
            if kind.is_dir() {
                walk(&path, found);
            }
            found.insert(path, content);
        }
    }
    let mut found = BTreeMap::new();
    walk(world.mailbox(), &mut found);
    found.retain(|path, _| !path.starts_with(world.in_mailbox("locks")) && !path.ends_with("audit.jsonl"));
    found
}

/// Every name below a folder of the mailbox that has this word in it.
fn traces(world: &World, word: &str) -> Vec<PathBuf> {
    everything(world).into_keys().filter(|p| p.strip_prefix(world.mailbox()).is_ok_and(|p| p.to_string_lossy().contains(word))).collect()
}

/// A gc that keeps nothing changes none of these.
#[track_caller]
fn assert_untouched(world: &World, what: &str) {
    let before = everything(world);
    let report = gc(world, &["--keep", "0s"]);
    assert_eq!(report["rounds"], 0, "{what}: {report}");
    assert!(everything(world) == before, "{what}: was changed");
}

#[test]
fn the_names_of_a_dry_run_are_printed_as_they_are_found() {
    needs!("strace");
    let world = world();
    world.past_rounds("docs", 0..1_500);
    let trace = world.path("trace");
    let before = strace(&["-f", "-qq", "-e", "trace=write,openat2,statx", "-e", "signal=none", "-o", trace.to_str().unwrap()]);
    for (keep, list) in [("--archive=30d", "would_be_archived"), ("--keep=30d", "would_go")] {
        let out = output(world.wrapped(&before, "askbox").args(["gc", "--dry-run", "--json", keep]));
        let report: Value = serde_json::from_str(&out.ok().stdout).expect("one object");
        assert!(report[list].as_array().is_some_and(|names| names.len() >= 1_499), "{report}");
        assert_eq!(report["dry_run"], true);
        let trace = std::fs::read_to_string(&trace).unwrap();
        let printed: Vec<usize> = trace.lines().enumerate().filter(|(_, line)| line.contains(" write(1, ")).map(|(n, _)| n).collect();
        assert!(printed.len() > 3, "{list} is printed in {} pieces", printed.len());
        let looked = trace.lines().enumerate().filter(|(_, line)| line.contains("/docs")).map(|(n, _)| n).max().unwrap();
        assert!(printed[0] < looked, "the first names are printed before the last ones are found");
    }
}

mod promises {
    use super::*;

    #[test]
    fn rounds_that_ended_long_ago_are_removed_without_a_trace() {
        let world = world();
        for (id, days) in [("old", 40), ("young", 20)] {
            world.ok("checkpoint", &["save", id, "--step", "review"]);
            let round = deliver(&world, id);
            age(&world, id, &round, days);
        }
        world.ok("ask-post", &["-w", "taken-back", "?"]);
        let round = world.round("taken-back");
        world.ok("ask-answer", &["cancel", "taken-back"]);
        age(&world, "taken-back", &round, 40);
        // Changed lately, such as by a late answer; and a file that keeps an old time for what was over lately.
        for id in ["changed", "young-dated"] {
            let round = deliver(&world, id);
            age(&world, id, &round, 40);
            let path = closed(&world, id, &round);
            let dated = path.symlink_metadata().unwrap().modified().unwrap();
            match id {
                "changed" => change(&path, |_| {}),
                _ => change(&path, |d| d["closed"]["at"] = json!(chrono::Utc::now().to_rfc3339())),
            }
            if id == "young-dated" {
                std::fs::File::options().write(true).open(path).unwrap().set_modified(dated).unwrap();
            }
        }
        let costs = files(&world.in_mailbox("costs"));
        assert!(!costs.is_empty());

        let before = everything(&world);
        let report = gc(&world, &["--archive", "never"]);
        assert_eq!((&report["rounds"], &report["keep"]), (&json!(0), &Value::Null), "without a policy everything is kept");
        assert!(everything(&world) == before);

        let dry = gc(&world, &["--keep", "30d", "--dry-run"]);
        assert_eq!((&dry["rounds"], &dry["workflows"], &dry["checkpoints"]), (&json!(2), &json!(2), &json!(1)));
        let listed: Vec<&str> = dry["would_go"].as_array().expect("names").iter().filter_map(Value::as_str).collect();
        assert!(listed.contains(&"checkpoints/old.json") && listed.len() == 3, "{listed:?}");
        assert!(everything(&world) == before, "a dry run changed something");

        world.configure("[history]\nkeep = \"30d\"\n");
        let report = gc(&world, &[]);
        assert_eq!((&report["rounds"], &report["workflows"], &report["checkpoints"]), (&json!(2), &json!(2), &json!(1)), "as it said");
        assert!(report["bytes"].as_u64() > Some(0));
        assert_eq!(traces(&world, "old"), Vec::<PathBuf>::new());
        assert_eq!(traces(&world, "taken-back"), Vec::<PathBuf>::new());
        let stays = |path: &Path| ["young", "changed"].iter().any(|id| path.to_string_lossy().contains(id));
        let young: BTreeMap<_, _> = before.into_iter().filter(|(p, _)| stays(p)).collect();
        assert!(young.len() > 24 && young.iter().all(|(path, bytes)| everything(&world).get(path) == Some(bytes)));
        assert_eq!(files(&world.in_mailbox("costs")), costs, "what was booked is changed");
        let audit = std::fs::read_to_string(world.in_mailbox("audit.jsonl")).unwrap();
        assert!(audit.contains(r#""event":"pruned","by":"askbox gc","why":"2 rounds, 2 workflows, 1 checkpoints""#), "{audit}");

        let out = world.run("relaunch", &["resume", "old"]);
        assert!(out.status.code() == Some(3) && out.words().contains("`askbox gc` archives and prunes those"), "{}", out.words());
        assert!(world.run("relaunch", &["status", "old"]).status.code() == Some(3));
        assert_eq!(world.state("young"), "delivered");
        // The id is free again.
        deliver(&world, "old");
        assert_eq!(world.state("old"), "delivered");
    }

    #[test]
    fn foreign_files_and_links_are_neither_followed_nor_removed() {
        let world = world();
        gc(&world, &["--keep", "0s"]);
        let m = world.mailbox();
        let elsewhere = world.path("elsewhere");
        std::fs::create_dir_all(elsewhere.join("1")).unwrap();
        std::fs::write(elsewhere.join("1/run.json"), "theirs").unwrap();
        let link = |to: &Path, at: PathBuf| std::os::unix::fs::symlink(to, at).unwrap();
        let rounds: BTreeMap<&str, String> = ["round", "workflow", "attempt", "file", "note"].map(|id| (id, deliver(&world, id))).into();
        let runs = |id: &str| m.join("runs").join(id).join(&rounds[id]);
        for id in ["round", "workflow"] {
            std::fs::remove_dir_all(runs(id)).unwrap();
        }
        link(&elsewhere, runs("round"));
        std::fs::remove_dir_all(m.join("runs/workflow")).unwrap();
        std::fs::create_dir_all(elsewhere.join(&rounds["workflow"])).unwrap();
        link(&elsewhere, m.join("runs/workflow"));
        link(&elsewhere, runs("attempt").join("2"));
        std::fs::remove_file(runs("file").join("1/events.jsonl")).unwrap();
        link(&elsewhere.join("1/run.json"), runs("file").join("1/events.jsonl"));
        std::fs::write(runs("note").join("1/my-notes.txt"), "mine").unwrap();
        // In closed/: no round, no document, another's, a link, a folder.
        let id = "01a200d3-6403-73d0-b0a8-62f4627a962f";
        std::fs::write(m.join("closed/notes.txt"), "mine").unwrap();
        std::fs::write(m.join(format!("closed/x1.{id}.json")), "{").unwrap();
        std::fs::write(
            m.join(format!("closed/x2.{id}.json")),
            json!({"workflow_id": "other", "question": "?", "question_id": id}).to_string(),
        )
        .unwrap();
        link(&elsewhere.join("1/run.json"), m.join(format!("closed/x3.{id}.json")));
        std::fs::create_dir(m.join(format!("closed/x4.{id}.json"))).unwrap();
        link(&elsewhere, m.join("checkpoints/round.json"));
        std::thread::sleep(Duration::from_millis(5));
        for _ in 0..2 {
            world.run("askbox", &["gc", "--keep", "0s"]);
        }
        assert_eq!(std::fs::read_to_string(elsewhere.join("1/run.json")).unwrap(), "theirs");
        assert!(elsewhere.join(&rounds["workflow"]).is_dir());
        for stays in
            [runs("attempt").join("2"), runs("file").join("1/events.jsonl"), m.join("runs/workflow"), m.join("checkpoints/round.json")]
        {
            assert!(stays.symlink_metadata().is_ok(), "{} is gone", stays.display());
        }
        assert_eq!(std::fs::read_to_string(runs("note").join("1/my-notes.txt")).unwrap(), "mine");
        let mut left = names(&m.join("closed"));
        left.retain(|n| n.starts_with('x') || n.starts_with('n'));
        assert_eq!(left.len(), 5, "{left:?}");
        assert!(!runs("attempt").join("1").exists() && !runs("note").join("1/run.json").exists(), "what is ours went");
    }

    #[test]
    fn a_look_at_one_workflow_reads_no_names_of_all_history() {
        needs!("strace");
        let world = world();
        let round = deliver(&world, "docs");
        for id in ["back", "super"] {
            world.ok("ask-post", &["-w", id, "One?"]);
        }
        world.ok("ask-answer", &["cancel", "back"]);
        world.ok("ask-post", &["-w", "super", "Two?", "--supersede"]);
        // Rounds that never ran are found all the same.
        assert_eq!(world.state("back"), "withdrawn");
        world.ok("ask-answer", &["cancel", "super"]);
        assert_eq!(world.state("super"), "withdrawn");
        assert_eq!(world.names("runs/super").len(), 2);
        let looks: [(&str, &[&str]); 6] = [
            ("relaunch", &["status", "docs"]),
            ("relaunch", &["logs", "docs"]),
            ("relaunch", &["resume", "docs"]),
            ("ask-answer", &["show", "docs"]),
            ("ask-answer", &["docs", "b"]),
            ("relaunch", &["spawn", "-w", "new", "--prompt", "go"]),
        ];
        for (program, args) in looks {
            let trace = world.path("trace");
            let before = strace(&["-f", "-qq", "-y", "-e", "trace=getdents64", "-e", "signal=none", "-o", trace.to_str().unwrap()]);
            let out = output(world.wrapped(&before, program).args(args));
            assert!([0, 4].contains(&out.status.code().unwrap()), "{program} {args:?}: {}", out.words());
            let listed = std::fs::read_to_string(&trace).unwrap();
            for folder in ["closed", "runs", "workflows", "checkpoints"] {
                assert!(
                    !listed.contains(&format!("{}>", world.in_mailbox(folder).display())),
                    "{program} {args:?} lists {folder}/:\n{listed}"
                );
            }
        }
        // The doctor finds a lost folder, and the command that it names mends it.
        let runs = world.in_mailbox(format!("runs/docs/{round}"));
        std::fs::remove_dir_all(&runs).unwrap();
        let out = world.run("askbox", &["doctor", "--json"]);
        let report: Value = serde_json::from_str(&out.stdout).unwrap();
        let finding = report["findings"].as_array().unwrap().iter().find(|f| f["kind"] == "unlisted").expect("a finding").clone();
        let mended = std::process::Command::new("sh").args(["-c", finding["mend"].as_str().unwrap()]).status().unwrap();
        assert!(mended.success());
        assert_eq!(world.state("docs"), "delivered");
    }
}
