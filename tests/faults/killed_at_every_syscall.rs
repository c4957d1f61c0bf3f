//! Promises 1, 2 and 4 under SIGKILL. Every program is killed right before each of its system calls that changes or opens anything, one
//! after the other. The next program that a user would run must find nothing lost, doubled or torn.

use serde_json::Value;

use crate::faults::syscalls::at_every_point;
use crate::support::{Outcome, World, files, names, needs, until};

fn printed(out: &Outcome, words: &str) -> bool {
    out.stdout.contains(words)
}

/// The round was delivered, once: by one run, to a model that saw the answer once.
#[track_caller]
pub(crate) fn assert_delivered_once(world: &World, when: &str) {
    let closed = world.only("closed", "docs.").unwrap_or_else(|| panic!("{when}: the round is not closed"));
    assert_eq!(world.json(closed)["closed"]["state"], "delivered", "{when}");
    for folder in ["pending", "answered", "running", "parked", "quarantine"] {
        let left = world.names(folder);
        assert!(left.is_empty(), "{when}: {folder}/ still holds {left:?}");
    }
    assert_eq!(world.logged("shown "), 1, "{when}: {:#?}", world.log());
    assert_eq!(world.logged("violation "), 0, "{when}: {:#?}", world.log());
    let runs = files(&world.in_mailbox("runs"));
    let delivered =
        runs.iter().filter(|(path, _)| path.ends_with("run.json")).filter(|(path, _)| world.json(path)["state"] == "delivered").count();
    assert_eq!(delivered, 1, "{when}: attempts that delivered");
}

#[test]
fn an_undo_killed_anywhere_is_completed_or_never_happened() {
    needs!("strace");
    let setup = || {
        let world = World::stepping("work");
        world.ok("checkpoint", &["save", "docs", "--step", "review"]);
        world.ok("ask-post", &["-w", "docs", "Merge?", "-o", "a=A", "-o", "b=B"]);
        world.ok("ask-answer", &["docs", "a"]);
        world
    };
    at_every_point(&setup, "ask-answer", &["undo", "docs"], |world, when, out| {
        let acknowledged = printed(out, "docs: taken back");
        let _watcher = world.watch();
        let is_settled = || !world.in_mailbox("answered/docs.json").exists() && world.names("running").is_empty();
        until("the answer is delivered, or the question waits", is_settled);
        if world.in_mailbox("pending/docs.json").exists() {
            assert!(world.document("checkpoints/docs.json")["user_answer"].is_null(), "{when}: the checkpoint holds what was taken back");
            assert_eq!(world.logged("shown "), 0, "{when}: {:#?}", world.log());
        } else {
            assert!(!acknowledged, "{when}: an answer that was taken back was delivered");
            assert_delivered_once(world, when);
        }
    });
}

#[test]
fn a_copy_of_a_signed_answer_taken_back_never_counts() {
    needs!("strace");
    let setup = || {
        let world = World::stepping("work");
        world.configure(&world.only_signed_answers());
        world.sh("ask-post -w docs 'Merge?' -o a=A -o b=B; ask-answer docs a; cp m/answered/docs.json kept; ask-answer undo docs");
        world.sh("mv kept m/answered/docs.json");
        world
    };
    at_every_point(&setup, "ask-answer", &["docs", "b"], |world, when, _| {
        let second = world.run("ask-answer", &["docs", "b"]);
        assert!([0, 4].contains(&second.code()), "{when}: {}", second.words());
        assert!(world.reason("docs.json").contains("was taken back"), "{when}: the copy is not kept");
        world.sh("rm m/quarantine/*");
        world.ok("relaunch", &["docs"]);
        assert_delivered_once(world, when);
        let closed = world.only("closed", "docs.").expect("asserted above");
        assert_eq!(world.json(closed)["answer"]["value"], "b", "{when}");
    });
}

/// The asker waits for a file itself, without a watcher, and answers with it.
#[test]
fn a_killed_wait_for_a_file_is_posted_or_not() {
    needs!("strace");
    let setup = || {
        let world = World::stepping("work");
        std::fs::write(world.work().join("built"), "").expect("a file");
        world
    };
    let wait = ["-w", "docs", "--until-file", "built", "--wait", "60s"];
    at_every_point(&setup, "ask-post", &wait, |world, when, out| {
        let folders = ["pending", "answered", "running", "closed"];
        if folders.iter().all(|folder| world.names(folder).is_empty()) {
            assert_eq!(out.stdout, "", "{when}: a wait that was told is lost");
            world.ok("ask-post", &wait);
        }
        let watcher = world.start_watcher();
        until(when, || world.only("closed", "docs.").is_some() && world.names("pending").is_empty() && world.names("running").is_empty());
        watcher.kill();
        let round = world.json(world.only("closed", "docs.").expect("awaited"));
        assert_eq!((&round["answer"]["by"], round.get("late_answers")), (&"event".into(), None), "{when}: {round}");
    });
}

fn answered() -> World {
    let world = World::stepping("work");
    world.ok("ask-post", &["-w", "docs", "Merge?", "-o", "a=A", "-o", "b=B"]);
    world.ok("ask-answer", &["docs", "a"]);
    world
}

#[test]
fn a_run_killed_from_claim_to_close_is_finished_by_hand() {
    needs!("strace");
    at_every_point(&answered, "relaunch", &["docs"], |world, when, _| {
        if world.only("closed", "docs.").is_none() {
            world.ok("relaunch", &["docs"]);
        }
        assert_delivered_once(world, when);
    });
}

/// While an answer was taken in, somebody put the next question over the answered one, and the program that had moved it aside
/// was killed: the watcher brings it back.
#[test]
fn a_newer_question_that_was_moved_aside_is_brought_back() {
    let world = World::stepping("work");
    world.make_mailbox();
    let aside = world.in_mailbox("pending/.tmpretired.docs.01a200d3-6403-73d0-b0a8-62f4627a962f");
    std::fs::write(aside, r#"{"workflow_id":"docs","question":"Next?","options":{"a":"A"}}"#).expect("a question");
    let watcher = world.start_watcher();
    until("it is pending again", || world.state("docs") == "pending");
    world.ok("ask-answer", &["docs", "a"]);
    until("it is delivered", || world.only("closed", "docs.").is_some());
    watcher.kill();
    assert_delivered_once(&world, "moved aside");
}

/// Three rounds of one workflow that goes on, and all of another one: `gc` keeps nothing that is over.
#[cfg(feature = "askbox")]
#[test]
fn a_killed_gc_leaves_nothing_half_visible() {
    needs!("strace");
    let setup = || {
        let world = answered();
        world.ok("relaunch", &["docs"]);
        world.ok("checkpoint", &["save", "docs", "--step", "review"]);
        let then = std::time::SystemTime::now() - std::time::Duration::from_secs(86_400);
        let checkpoint = std::fs::File::options().write(true).open(world.in_mailbox("checkpoints/docs.json")).expect("saved");
        checkpoint.set_modified(then).expect("a date");
        for _ in 0..2 {
            world.ok("ask-post", &["-w", "docs", "Again?"]);
            world.ok("ask-answer", &["cancel", "docs"]);
        }
        for answer in ["a", "b"] {
            world.ok("ask-post", &["-w", "lives", "Merge?", "-o", "a=A", "-o", "b=B"]);
            world.ok("ask-answer", &["lives", answer]);
            world.ok("relaunch", &["lives"]);
        }
        for (path, _) in files(&world.in_mailbox("runs/lives")).into_iter().filter(|(p, _)| p.ends_with("run.json")) {
            let mut run = world.json(&path);
            run["cost_usd"] = 1.5.into();
            std::fs::write(path, run.to_string()).expect("writable");
        }
        world.ok("ask-post", &["-w", "lives", "Next?"]);
        world
    };
    // A limit counts what was carried over, and the runs that were not.
    let spent = |world: &World| {
        let record = world.json(world.in_mailbox("workflows/lives.json"));
        let counted: Vec<&str> = record["pruned"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let runs = files(&world.in_mailbox("runs/lives")).into_keys().filter(|p| p.ends_with("run.json")).map(|p| world.json(p));
        let left = runs.filter(|r| r["question_id"].as_str().is_none_or(|id| !counted.contains(&id)));
        record["pruned_cost_usd"].as_f64().unwrap_or_default() + left.filter_map(|r| r["cost_usd"].as_f64()).sum::<f64>()
    };
    at_every_point(&setup, "askbox", &["gc", "--keep", "0s"], |world, when, _| {
        let m = world.mailbox();
        // A round that is there is there with its run; a workflow that is there is delivered or withdrawn, and can be asked.
        for name in names(&m.join("closed")) {
            let round = world.json(m.join("closed").join(&name));
            let (id, question) = (round["workflow_id"].as_str().expect("an id"), round["question_id"].as_str().expect("an id"));
            let runs = m.join("runs").join(id).join(question);
            assert!(runs.is_dir(), "{when}: {name} has lost its folder");
            assert!(round["closed"]["state"] != "delivered" || runs.join("1/run.json").exists(), "{when}: {name} has lost its run");
            assert!(["delivered", "withdrawn", "pending"].contains(&world.state(id).as_str()), "{when}: {id} is {}", world.state(id));
        }
        assert_eq!((world.state("lives").as_str(), spent(world)), ("pending", 3.0), "{when}");
        world.ok("askbox", &["gc", "--keep", "0s"]);
        assert_eq!((world.state("lives").as_str(), spent(world)), ("pending", 3.0), "{when}, and the next one");
        // Somebody asks while the killed one's traces lie there.
        world.ok("ask-answer", &["lives", "go on"]);
        world.ok("relaunch", &["lives"]);
        world.ok("askbox", &["gc", "--keep", "0s"]);
        for folder in ["closed", "runs", "workflows", "checkpoints"] {
            let mut left: Vec<_> = std::fs::read_dir(m.join(folder)).expect("a folder").flatten().map(|e| e.file_name()).collect();
            // The watcher sweeps the file that the killed program was writing, an hour later.
            left.retain(|name| !name.to_str().is_some_and(askbox::disk::is_temporary_name));
            assert!(left.is_empty(), "{when}: {folder}/ still holds {left:?}");
        }
        assert_eq!(world.logged("shown "), 4, "{when}");
    });
}

mod promises {
    use super::*;

    #[test]
    fn a_killed_post_is_posted_or_not_and_can_be_repeated() {
        needs!("strace");
        let post = ["-w", "docs", "Merge?", "-o", "a=A", "-o", "b=B", "--timeout", "2h"];
        at_every_point(&|| World::stepping("work"), "ask-post", &post, |world, when, out| {
            let there = world.in_mailbox("pending/docs.json").exists();
            assert!(there || !printed(out, "QUESTION_POSTED:docs"), "{when}: an acknowledged question is lost");
            let first = there.then(|| world.round("docs"));
            world.ok("ask-post", &post);
            assert!(first.is_none_or(|first| first == world.round("docs")), "{when}: the question was doubled");
            world.ok("ask-answer", &["docs", "a"]);
            world.ok("relaunch", &["docs"]);
            assert_delivered_once(world, when);
        });
    }

    #[test]
    fn a_killed_answer_counts_or_not_and_never_twice() {
        needs!("strace");
        let setup = || {
            let world = World::stepping("work");
            world.ok("checkpoint", &["save", "docs", "--step", "review"]);
            world.ok("ask-post", &["-w", "docs", "Merge?", "-o", "a=A", "-o", "b=B", "--timeout", "2h"]);
            world
        };
        at_every_point(&setup, "ask-answer", &["docs", "a"], |world, when, out| {
            let acknowledged = printed(out, "docs: answered");
            // A process that looks now finds the answer if it counts, and no other.
            let counts = world.in_mailbox("answered/docs.json").exists();
            let held = world.run("checkpoint", &["get", "docs", "user_answer"]);
            assert_eq!(held.status.code(), Some(if counts { 0 } else { 3 }), "{when}: {}", held.words());
            // Another one answers differently: exactly one of the two counts, and everybody says the same.
            let second = world.run("ask-answer", &["docs", "b"]);
            let winner = match second.status.code() {
                Some(0) => "b",
                Some(4) => "a",
                other => panic!("{when}: the second answer ends with {other:?}: {}", second.words()),
            };
            assert!(winner == "a" || !acknowledged, "{when}: an acknowledged answer was replaced");
            assert_eq!(world.json(world.in_mailbox("checkpoints/docs.json"))["user_answer"], winner, "{when}: the checkpoint says another");
            world.ok("relaunch", &["docs"]);
            assert_delivered_once(world, when);
            let closed = world.only("closed", "docs.").expect("asserted above");
            assert_eq!(world.json(closed)["answer"]["value"], winner, "{when}");
        });
    }

    #[test]
    fn a_killed_undo_takes_the_whole_answer_back_or_none_of_it() {
        needs!("strace");
        let setup = || {
            let world = World::stepping("work");
            world.ok("checkpoint", &["save", "docs", "--step", "review"]);
            world.ok("ask-post", &["-w", "docs", "Merge?", "-o", "a=A", "-o", "b=B", "--timeout", "2h"]);
            world.ok("ask-answer", &["docs", "a"]);
            world
        };
        at_every_point(&setup, "ask-answer", &["undo", "docs"], |world, when, out| {
            let acknowledged = printed(out, "docs: taken back");
            // If the answer was taken back, the question waits for another one.
            let second = world.run("ask-answer", &["docs", "b"]);
            let winner = match second.status.code() {
                Some(0) => "b",
                Some(4) => "a",
                other => panic!("{when}: the second answer ends with {other:?}: {}", second.words()),
            };
            assert!(winner == "b" || !acknowledged, "{when}: an answer that was taken back counts");
            assert_eq!(world.json(world.in_mailbox("checkpoints/docs.json"))["user_answer"], winner, "{when}: the checkpoint says another");
            world.ok("relaunch", &["docs"]);
            assert_delivered_once(world, when);
            let closed = world.only("closed", "docs.").expect("asserted above");
            assert_eq!(world.json(closed)["answer"]["value"], winner, "{when}");
        });
    }

    #[test]
    fn a_killed_save_leaves_the_old_checkpoint_or_the_new_one() {
        needs!("strace");
        let setup = || {
            let world = World::stepping("work");
            world.ok("checkpoint", &["save", "docs", "--step", "old"]);
            world
        };
        at_every_point(&setup, "checkpoint", &["save", "docs", "--step", "new"], |world, when, out| {
            let step = world.ok("checkpoint", &["get", "docs", "current_step"]);
            assert!(["old\n", "new\n"].contains(&step.as_str()), "{when}: {step}");
            assert!(step == "new\n" || !printed(out, "docs.json"), "{when}: an acknowledged checkpoint is lost");
            world.ok("checkpoint", &["save", "docs", "--step", "new"]);
            assert_eq!(world.ok("checkpoint", &["get", "docs", "current_step"]), "new\n", "{when}");
        });
    }

    /// The answer came while nobody waited. The asker comes back for it, and is killed on its way.
    #[test]
    fn a_killed_asker_that_comes_back_gets_its_answer() {
        needs!("strace");
        let ask = ["-w", "docs", "Merge?", "-o", "a=A", "-o", "b=B", "--wait", "60s"];
        at_every_point(&answered, "ask-post", &ask, |world, when, out| {
            if !printed(out, "a") {
                assert_eq!(world.ok("ask-post", &ask), "a\n", "{when}");
            }
            assert!(world.names("pending").is_empty(), "{when}: it was asked again");
        });
    }

    #[test]
    fn a_run_killed_from_claim_to_close_is_finished_later() {
        needs!("strace");
        at_every_point(&answered, "relaunch", &["docs"], |world, when, _| {
            let watcher = world.start_watcher();
            until(when, || world.only("closed", "docs.").is_some() && world.names("running").is_empty());
            watcher.kill();
            assert_delivered_once(world, when);
        });
    }
}
