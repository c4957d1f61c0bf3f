//! `askbox gc`: what goes, what never goes, and that nothing is lost beside it. That a killed one leaves nothing half visible is
//! in `tests/faults/killed_at_every_syscall.rs`.

mod beside;
mod stays;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::support::faults::{self, Place, names, output, strace, words};
use serde_json::{Value, json};

const DAY: u64 = 86_400;

/// A mailbox with a workflow `first`, which was withdrawn just now.
fn place() -> Place {
    let place = Place::new();
    place.make_mailbox();
    place
}

/// Asked, answered and delivered; returns the round.
fn deliver(place: &Place, id: &str) -> String {
    place.ok("ask-post", &["-w", id, "Merge?", "-o", "a=A", "-o", "b=B"]);
    let round = place.round(id);
    place.ok("ask-answer", &[id, "a"]);
    place.ok("relaunch", &[id]);
    assert!(closed(place, id, &round).exists());
    round
}

fn closed(place: &Place, id: &str, round: &str) -> PathBuf {
    place.mailbox().join(format!("closed/{id}.{round}.json"))
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
fn age(place: &Place, id: &str, round: &str, days: u64) {
    let then = SystemTime::now() - Duration::from_secs(days * DAY);
    let path = closed(place, id, round);
    let text = |at: SystemTime| chrono::DateTime::<chrono::Utc>::from(at).to_rfc3339_opts(chrono::SecondsFormat::Millis, true);
    change(&path, |d| {
        d["closed"]["at"] = text(then).into();
        d["timestamp"] = text(then - Duration::from_secs(60)).into();
        if d["answer"].is_object() {
            d["answer"]["at"] = text(then - Duration::from_secs(30)).into();
        }
    });
    for path in [path, place.mailbox().join(format!("checkpoints/{id}.json"))] {
        if let Ok(file) = std::fs::File::options().write(true).open(path) {
            file.set_modified(then).expect("a date");
        }
    }
}

fn gc(place: &Place, args: &[&str]) -> Value {
    let out = place.run("askbox", &[&["gc", "--json"], args].concat());
    assert!(out.status.success(), "{args:?}: {}", words(&out));
    serde_json::from_slice(&out.stdout).expect("a report")
}

/// Every file and every folder of the mailbox but the logs and locks of a look.
fn everything(place: &Place) -> BTreeMap<PathBuf, Vec<u8>> {
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
    walk(&place.mailbox(), &mut found);
    found.retain(|path, _| !path.starts_with(place.mailbox().join("locks")) && !path.ends_with("audit.jsonl"));
    found
}

/// Every name below a folder of the mailbox that has this word in it.
fn traces(place: &Place, word: &str) -> Vec<PathBuf> {
    everything(place).into_keys().filter(|p| p.strip_prefix(place.mailbox()).is_ok_and(|p| p.to_string_lossy().contains(word))).collect()
}

/// Nothing of these is changed by a gc that keeps nothing.
#[track_caller]
fn assert_untouched(place: &Place, what: &str) {
    let before = everything(place);
    let report = gc(place, &["--keep", "0s"]);
    assert_eq!(report["rounds"], 0, "{what}: {report}");
    assert!(everything(place) == before, "{what}: was changed");
}

#[test]
fn what_was_over_for_long_enough_goes_without_a_trace_and_what_was_not_stays() {
    let place = place();
    for (id, days) in [("old", 40), ("young", 20)] {
        place.ok("checkpoint", &["save", id, "--step", "review"]);
        let round = deliver(&place, id);
        age(&place, id, &round, days);
    }
    place.ok("ask-post", &["-w", "taken-back", "?"]);
    let round = place.round("taken-back");
    place.ok("ask-answer", &["cancel", "taken-back"]);
    age(&place, "taken-back", &round, 40);
    // Changed lately, such as by a late answer; and a file that keeps an old time for what was over lately.
    for id in ["changed", "young-dated"] {
        let round = deliver(&place, id);
        age(&place, id, &round, 40);
        let path = closed(&place, id, &round);
        let dated = path.symlink_metadata().unwrap().modified().unwrap();
        match id {
            "changed" => change(&path, |_| {}),
            _ => change(&path, |d| d["closed"]["at"] = json!(chrono::Utc::now().to_rfc3339())),
        }
        if id == "young-dated" {
            std::fs::File::options().write(true).open(path).unwrap().set_modified(dated).unwrap();
        }
    }
    let costs = faults::files(&place.mailbox().join("costs"));
    assert!(!costs.is_empty());

    let before = everything(&place);
    let report = gc(&place, &[]);
    assert_eq!((&report["rounds"], &report["keep"]), (&json!(0), &Value::Null), "without a policy everything is kept");
    assert!(everything(&place) == before);

    let dry = gc(&place, &["--keep", "30d", "--dry-run"]);
    assert_eq!((&dry["rounds"], &dry["workflows"], &dry["checkpoints"]), (&json!(2), &json!(2), &json!(1)));
    let listed: Vec<&str> = dry["would_go"].as_array().expect("names").iter().filter_map(Value::as_str).collect();
    assert!(listed.contains(&"checkpoints/old.json") && listed.len() == 3, "{listed:?}");
    assert!(everything(&place) == before, "a dry run changed something");

    place.configure("[history]\nkeep = \"30d\"\n");
    let report = gc(&place, &[]);
    assert_eq!((&report["rounds"], &report["workflows"], &report["checkpoints"]), (&json!(2), &json!(2), &json!(1)), "as it said");
    assert!(report["bytes"].as_u64() > Some(0));
    assert_eq!(traces(&place, "old"), Vec::<PathBuf>::new());
    assert_eq!(traces(&place, "taken-back"), Vec::<PathBuf>::new());
    let stays = |path: &Path| ["young", "changed"].iter().any(|id| path.to_string_lossy().contains(id));
    let young: BTreeMap<_, _> = before.into_iter().filter(|(p, _)| stays(p)).collect();
    assert!(young.len() > 24 && young.iter().all(|(path, bytes)| everything(&place).get(path) == Some(bytes)));
    assert_eq!(faults::files(&place.mailbox().join("costs")), costs, "what was booked is changed");
    let audit = std::fs::read_to_string(place.mailbox().join("audit.jsonl")).unwrap();
    assert!(audit.contains(r#""event":"pruned","by":"askbox gc","why":"2 rounds, 2 workflows, 1 checkpoints""#), "{audit}");

    let out = place.run("relaunch", &["resume", "old"]);
    assert!(out.status.code() == Some(3) && words(&out).contains("`askbox gc` may have pruned"), "{}", words(&out));
    assert!(place.run("relaunch", &["status", "old"]).status.code() == Some(3));
    assert_eq!(place.state("young"), "delivered");
    // The id is free again.
    deliver(&place, "old");
    assert_eq!(place.state("old"), "delivered");
}

#[test]
fn foreign_files_and_links_are_neither_followed_nor_removed() {
    let place = place();
    gc(&place, &["--keep", "0s"]);
    let m = place.mailbox();
    let elsewhere = place.root.join("elsewhere");
    std::fs::create_dir_all(elsewhere.join("1")).unwrap();
    std::fs::write(elsewhere.join("1/run.json"), "theirs").unwrap();
    let link = |to: &Path, at: PathBuf| std::os::unix::fs::symlink(to, at).unwrap();
    let rounds: BTreeMap<&str, String> = ["round", "workflow", "attempt", "file", "note"].map(|id| (id, deliver(&place, id))).into();
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
    std::fs::write(m.join(format!("closed/x2.{id}.json")), json!({"workflow_id": "other", "question": "?", "question_id": id}).to_string())
        .unwrap();
    link(&elsewhere.join("1/run.json"), m.join(format!("closed/x3.{id}.json")));
    std::fs::create_dir(m.join(format!("closed/x4.{id}.json"))).unwrap();
    link(&elsewhere, m.join("checkpoints/round.json"));
    std::thread::sleep(Duration::from_millis(5));
    for _ in 0..2 {
        place.run("askbox", &["gc", "--keep", "0s"]);
    }
    assert_eq!(std::fs::read_to_string(elsewhere.join("1/run.json")).unwrap(), "theirs");
    assert!(elsewhere.join(&rounds["workflow"]).is_dir());
    for stays in [runs("attempt").join("2"), runs("file").join("1/events.jsonl"), m.join("runs/workflow"), m.join("checkpoints/round.json")]
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
fn a_look_at_one_workflow_does_not_read_the_names_of_all_history() {
    let place = place();
    let round = deliver(&place, "docs");
    for id in ["back", "super"] {
        place.ok("ask-post", &["-w", id, "One?"]);
    }
    place.ok("ask-answer", &["cancel", "back"]);
    place.ok("ask-post", &["-w", "super", "Two?", "--supersede"]);
    // Rounds that never ran are found all the same.
    assert_eq!(place.state("back"), "withdrawn");
    place.ok("ask-answer", &["cancel", "super"]);
    assert_eq!(place.state("super"), "withdrawn");
    assert_eq!(names(&place.mailbox().join("runs/super")).len(), 2);
    let looks: [(&str, &[&str]); 6] = [
        ("relaunch", &["status", "docs"]),
        ("relaunch", &["logs", "docs"]),
        ("relaunch", &["resume", "docs"]),
        ("ask-answer", &["show", "docs"]),
        ("ask-answer", &["docs", "b"]),
        ("relaunch", &["spawn", "-w", "new", "--prompt", "go"]),
    ];
    for (program, args) in looks {
        let trace = place.root.join("trace");
        let before = strace(&["-f", "-qq", "-y", "-e", "trace=getdents64", "-e", "signal=none", "-o", trace.to_str().unwrap()]);
        let out = output(place.wrapped(&before, program).args(args));
        assert!([0, 4].contains(&out.status.code().unwrap()), "{program} {args:?}: {}", words(&out));
        let listed = std::fs::read_to_string(&trace).unwrap();
        for folder in ["closed", "runs", "workflows", "checkpoints"] {
            assert!(
                !listed.contains(&format!("{}>", place.mailbox().join(folder).display())),
                "{program} {args:?} lists {folder}/:\n{listed}"
            );
        }
    }
    // What the doctor finds where the folder was lost, and that its command mends it.
    let runs = place.mailbox().join(format!("runs/docs/{round}"));
    std::fs::remove_dir_all(&runs).unwrap();
    let out = place.run("askbox", &["doctor", "--json"]);
    let report: Value = serde_json::from_slice(&out.stdout).unwrap();
    let finding = report["findings"].as_array().unwrap().iter().find(|f| f["kind"] == "unlisted").expect("a finding").clone();
    let mended = std::process::Command::new("sh").args(["-c", finding["mend"].as_str().unwrap()]).status().unwrap();
    assert!(mended.success());
    assert_eq!(place.state("docs"), "delivered");
}
