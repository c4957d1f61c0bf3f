//! Promises 1, 2 and 4 under SIGKILL: every program is killed right before each of its system calls that changes or opens
//! anything, one after the other. Whoever comes next, as a user would, must find nothing lost, doubled or torn.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Output;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::faults::{self, Place, in_parallel, output, strace, until, words};
use serde_json::Value;

const CALLS: [&str; 18] = [
    "open",
    "openat",
    "write",
    "fsync",
    "fdatasync",
    "rename",
    "renameat",
    "renameat2",
    "link",
    "linkat",
    "unlink",
    "unlinkat",
    "mkdir",
    "flock",
    "fchmod",
    "chmod",
    "utimensat",
    "ftruncate",
];

/// One place to be killed at: before the `n`th call of this kind.
struct Point {
    call: &'static str,
    n: usize,
}

/// Every point of a program that runs in a place made by `setup`.
fn points(setup: &dyn Fn() -> Place, program: &str, args: &[&str]) -> Vec<Point> {
    let place = setup();
    let trace = place.root.join("trace");
    let set = format!("trace={}", CALLS.join(","));
    let before = strace(&["-qq", "-e", &set, "-e", "signal=none", "-o", trace.to_str().expect("a path")]);
    let out = output(place.wrapped(&before, program).args(args));
    assert!(out.status.success(), "{program} {args:?}: {}", words(&out));
    let text = std::fs::read_to_string(&trace).expect("a trace");
    let count = |call: &str| text.lines().filter(|l| l.starts_with(&format!("{call}("))).count();
    CALLS.iter().flat_map(|call| (1..=count(call)).map(|n| Point { call, n })).collect()
}

/// Runs a program that is killed at that point. Whether it was: threads may have it a call more or less.
fn run_killed(place: &Place, point: &Point, program: &str, args: &[&str]) -> (Output, bool) {
    let (trace, inject) = (format!("trace={}", point.call), format!("inject={}:signal=KILL:when={}", point.call, point.n));
    let before = strace(&["-qq", "-e", &trace, "-e", &inject, "-e", "signal=none", "-o", "/dev/null"]);
    let out = output(place.wrapped(&before, program).args(args));
    let killed = out.status.signal() == Some(9);
    assert!(killed || out.status.success(), "{program} neither died nor succeeded at {} {}: {}", point.call, point.n, words(&out));
    (out, killed)
}

/// Kills a program at each of its points in a fresh place; `after` looks at what is left.
fn at_every_point(setup: &(dyn Fn() -> Place + Sync), program: &str, args: &[&str], after: impl Fn(&Place, &str, &Output) + Sync) {
    let points = points(setup, program, args);
    let kills = AtomicUsize::new(0);
    in_parallel(12, &points, |point| {
        let place = setup();
        let (out, killed) = run_killed(&place, point, program, args);
        kills.fetch_add(usize::from(killed), Ordering::Relaxed);
        let when = format!("{program} killed before {} number {}", point.call, point.n);
        place.assert_whole(&when);
        after(&place, &when, &out);
        place.assert_whole(&when);
        assert_eq!(place.orphans(), [], "{when}: processes of runs live");
    });
    let kills = kills.into_inner();
    eprintln!("{program}: killed at {kills} of {} points", points.len());
    assert!(kills * 10 >= points.len() * 9, "{program}: only {kills} of {} points were reached", points.len());
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))).expect("JSON")
}

fn printed(out: &Output, words: &str) -> bool {
    String::from_utf8_lossy(&out.stdout).contains(words)
}

/// The round was delivered, once: by one run, to a model that saw the answer once.
#[track_caller]
fn assert_delivered_once(place: &Place, when: &str) {
    let closed = place.only("closed", "docs.").unwrap_or_else(|| panic!("{when}: the round is not closed"));
    assert_eq!(json(&closed)["closed"]["state"], "delivered", "{when}");
    for folder in ["pending", "answered", "running", "parked", "quarantine"] {
        let left = faults::names(&place.mailbox().join(folder));
        assert!(left.is_empty(), "{when}: {folder}/ still holds {left:?}");
    }
    assert_eq!(place.logged("shown "), 1, "{when}: {:#?}", place.log());
    assert_eq!(place.logged("violation "), 0, "{when}: {:#?}", place.log());
    let runs = faults::files(&place.mailbox().join("runs"));
    let delivered =
        runs.iter().filter(|(path, _)| path.ends_with("run.json")).filter(|(path, _)| json(path)["state"] == "delivered").count();
    assert_eq!(delivered, 1, "{when}: attempts that delivered");
}

#[test]
fn a_killed_post_is_posted_or_not_and_can_be_repeated() {
    let post = ["-w", "docs", "Merge?", "-o", "a=A", "-o", "b=B", "--timeout", "2h"];
    at_every_point(&Place::new, "ask-post", &post, |place, when, out| {
        let there = place.mailbox().join("pending/docs.json").exists();
        assert!(there || !printed(out, "QUESTION_POSTED:docs"), "{when}: an acknowledged question is lost");
        let first = there.then(|| place.round("docs"));
        place.ok("ask-post", &post);
        assert!(first.is_none_or(|first| first == place.round("docs")), "{when}: the question was doubled");
        place.ok("ask-answer", &["docs", "a"]);
        place.ok("relaunch", &["docs"]);
        assert_delivered_once(place, when);
    });
}

#[test]
fn a_killed_answer_counts_or_not_and_never_twice() {
    let setup = || {
        let place = Place::new();
        place.ok("checkpoint", &["save", "docs", "--step", "review"]);
        place.ok("ask-post", &["-w", "docs", "Merge?", "-o", "a=A", "-o", "b=B", "--timeout", "2h"]);
        place
    };
    at_every_point(&setup, "ask-answer", &["docs", "a"], |place, when, out| {
        let acknowledged = printed(out, "docs: answered");
        // Another one answers differently: exactly one of the two counts, and everybody says the same.
        let second = place.run("ask-answer", &["docs", "b"]);
        let winner = match second.status.code() {
            Some(0) => "b",
            Some(4) => "a",
            other => panic!("{when}: the second answer ends with {other:?}: {}", words(&second)),
        };
        assert!(winner == "a" || !acknowledged, "{when}: an acknowledged answer was replaced");
        assert_eq!(json(&place.mailbox().join("checkpoints/docs.json"))["user_answer"], winner, "{when}: the checkpoint says another");
        place.ok("relaunch", &["docs"]);
        assert_delivered_once(place, when);
        let closed = place.only("closed", "docs.").expect("asserted above");
        assert_eq!(json(&closed)["answer"]["value"], winner, "{when}");
    });
}

#[test]
fn a_killed_save_leaves_the_old_checkpoint_or_the_new_one() {
    let setup = || {
        let place = Place::new();
        place.ok("checkpoint", &["save", "docs", "--step", "old"]);
        place
    };
    at_every_point(&setup, "checkpoint", &["save", "docs", "--step", "new"], |place, when, out| {
        let step = place.ok("checkpoint", &["get", "docs", "current_step"]);
        assert!(["old\n", "new\n"].contains(&step.as_str()), "{when}: {step}");
        assert!(step == "new\n" || !printed(out, "docs.json"), "{when}: an acknowledged checkpoint is lost");
        place.ok("checkpoint", &["save", "docs", "--step", "new"]);
        assert_eq!(place.ok("checkpoint", &["get", "docs", "current_step"]), "new\n", "{when}");
    });
}

fn answered() -> Place {
    let place = Place::new();
    place.ok("ask-post", &["-w", "docs", "Merge?", "-o", "a=A", "-o", "b=B"]);
    place.ok("ask-answer", &["docs", "a"]);
    place
}

#[test]
fn a_run_killed_from_claim_to_close_is_finished_by_the_next_watcher() {
    at_every_point(&answered, "relaunch", &["docs"], |place, when, _| {
        let watcher = place.watcher();
        until(when, || place.only("closed", "docs.").is_some() && faults::names(&place.mailbox().join("running")).is_empty());
        watcher.kill();
        assert_delivered_once(place, when);
    });
}

#[test]
fn a_run_killed_from_claim_to_close_is_finished_by_hand() {
    at_every_point(&answered, "relaunch", &["docs"], |place, when, _| {
        if place.only("closed", "docs.").is_none() {
            place.ok("relaunch", &["docs"]);
        }
        assert_delivered_once(place, when);
    });
}

/// Three rounds of one workflow that goes on, and all of another one: `gc` keeps nothing that is over.
#[cfg(feature = "askbox")]
#[test]
fn a_killed_gc_leaves_nothing_half_visible_and_the_next_one_completes_it() {
    let setup = || {
        let place = answered();
        place.ok("relaunch", &["docs"]);
        place.ok("checkpoint", &["save", "docs", "--step", "review"]);
        let then = std::time::SystemTime::now() - std::time::Duration::from_secs(86_400);
        let checkpoint = std::fs::File::options().write(true).open(place.mailbox().join("checkpoints/docs.json")).expect("saved");
        checkpoint.set_modified(then).expect("a date");
        for _ in 0..2 {
            place.ok("ask-post", &["-w", "docs", "Again?"]);
            place.ok("ask-answer", &["cancel", "docs"]);
        }
        for answer in ["a", "b"] {
            place.ok("ask-post", &["-w", "lives", "Merge?", "-o", "a=A", "-o", "b=B"]);
            place.ok("ask-answer", &["lives", answer]);
            place.ok("relaunch", &["lives"]);
        }
        for (path, _) in faults::files(&place.mailbox().join("runs/lives")).into_iter().filter(|(p, _)| p.ends_with("run.json")) {
            let mut run = json(&path);
            run["cost_usd"] = 1.5.into();
            std::fs::write(path, run.to_string()).expect("writable");
        }
        place.ok("ask-post", &["-w", "lives", "Next?"]);
        place
    };
    // What a limit counts: what was carried over, and the runs that were not.
    let spent = |place: &Place| {
        let record = json(&place.mailbox().join("workflows/lives.json"));
        let counted: Vec<&str> = record["pruned"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let runs = faults::files(&place.mailbox().join("runs/lives")).into_keys().filter(|p| p.ends_with("run.json")).map(|p| json(&p));
        let left = runs.filter(|r| r["question_id"].as_str().is_none_or(|id| !counted.contains(&id)));
        record["pruned_cost_usd"].as_f64().unwrap_or_default() + left.filter_map(|r| r["cost_usd"].as_f64()).sum::<f64>()
    };
    at_every_point(&setup, "askbox", &["gc", "--keep", "0s"], |place, when, _| {
        let m = place.mailbox();
        // A round that is there is there with its run; a workflow that is there is delivered or withdrawn, and can be asked.
        for name in faults::names(&m.join("closed")) {
            let round = json(&m.join("closed").join(&name));
            let (id, question) = (round["workflow_id"].as_str().expect("an id"), round["question_id"].as_str().expect("an id"));
            let runs = m.join("runs").join(id).join(question);
            assert!(runs.is_dir(), "{when}: {name} has lost its folder");
            assert!(round["closed"]["state"] != "delivered" || runs.join("1/run.json").exists(), "{when}: {name} has lost its run");
            assert!(["delivered", "withdrawn", "pending"].contains(&place.state(id).as_str()), "{when}: {id} is {}", place.state(id));
        }
        assert_eq!((place.state("lives").as_str(), spent(place)), ("pending", 3.0), "{when}");
        place.ok("askbox", &["gc", "--keep", "0s"]);
        assert_eq!((place.state("lives").as_str(), spent(place)), ("pending", 3.0), "{when}, and the next one");
        // Somebody asks while the killed one's traces lie there.
        place.ok("ask-answer", &["lives", "go on"]);
        place.ok("relaunch", &["lives"]);
        place.ok("askbox", &["gc", "--keep", "0s"]);
        for folder in ["closed", "runs", "workflows", "checkpoints"] {
            let mut left: Vec<_> = std::fs::read_dir(m.join(folder)).expect("a folder").flatten().map(|e| e.file_name()).collect();
            // What the killed one was writing is the watcher's to sweep, an hour later.
            left.retain(|name| !name.to_str().is_some_and(askbox::disk::is_temporary_name));
            assert!(left.is_empty(), "{when}: {folder}/ still holds {left:?}");
        }
        assert_eq!(place.logged("shown "), 4, "{when}");
    });
}

/// While an answer was taken in, somebody put the next question over the answered one, and the program that had moved it aside
/// was killed: the watcher brings it back.
#[test]
fn a_newer_question_that_was_moved_aside_is_brought_back() {
    let place = Place::new();
    place.make_mailbox();
    let aside = place.mailbox().join("pending/.tmpretired.docs.01a200d3-6403-73d0-b0a8-62f4627a962f");
    std::fs::write(aside, r#"{"workflow_id":"docs","question":"Next?","options":{"a":"A"}}"#).expect("a question");
    let watcher = place.watcher();
    until("it is pending again", || place.state("docs") == "pending");
    place.ok("ask-answer", &["docs", "a"]);
    until("it is delivered", || place.only("closed", "docs.").is_some());
    watcher.kill();
    assert_delivered_once(&place, "moved aside");
}
