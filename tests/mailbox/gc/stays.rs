//! `askbox gc` never removes these.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use fs2::FileExt;
use serde_json::json as object;

use crate::mailbox::gc::{DAY, age, assert_untouched, change, closed, deliver, everything, gc, json, traces, world};
use crate::support::{World, asleep, output, until};

#[test]
fn gc_keeps_what_an_open_workflow_needs_and_what_it_has_cost() {
    let world = world();
    gc(&world, &["--keep", "0s"]);
    let rounds: Vec<String> = (0..6).map(|_| deliver(&world, "docs")).collect();
    for (n, round) in rounds.iter().enumerate() {
        age(&world, "docs", round, 100 - n as u64);
        change(&world.in_mailbox(format!("runs/docs/{round}/1/run.json")), |r| r["cost_usd"] = 1.5.into());
    }
    // What it was begun with, and a hand-made round whose words may be asked again.
    change(&closed(&world, "docs", &rounds[1]), |d| d["prompt"] = "Begin.".into());
    let by_hand = "15c96f27-091a-5dc1-bcce-0d2e49721bc0";
    let (from, to) = (closed(&world, "docs", &rounds[2]), closed(&world, "docs", by_hand));
    std::fs::rename(&from, &to).unwrap();
    std::fs::rename(world.in_mailbox(format!("runs/docs/{}", rounds[2])), world.in_mailbox(format!("runs/docs/{by_hand}"))).unwrap();
    change(&to, |d| {
        d["question_id"] = by_hand.into();
        d.as_object_mut().unwrap().remove("timestamp");
    });
    let then = SystemTime::now() - Duration::from_secs(90 * DAY);
    for path in [closed(&world, "docs", &rounds[1]), to.clone()] {
        std::fs::File::options().write(true).open(path).unwrap().set_modified(then).unwrap();
    }
    world.ok("ask-post", &["-w", "docs", "Next?"]);
    let report = gc(&world, &["--keep", "30d"]);
    assert_eq!((&report["rounds"], &report["workflows"]), (&object!(3), &object!(0)), "{report}");
    let mut left = world.names("closed");
    left.sort();
    let mut expected = [rounds[1].as_str(), by_hand, rounds[5].as_str()].map(|r| format!("docs.{r}.json"));
    expected.sort();
    assert_eq!(left, expected);
    let mut runs = world.names("runs/docs");
    runs.sort();
    assert_eq!(runs, expected.map(|n| n.trim_start_matches("docs.").trim_end_matches(".json").to_owned()));
    let record = json(&world.in_mailbox("workflows/docs.json"));
    assert_eq!((&record["pruned_cost_usd"], record["pruned"].as_array().map(Vec::len)), (&object!(4.5), Some(3)));
    // Nine dollars were spent: the limit knows of all of them.
    let limit = |usd: f64| {
        let toml = std::fs::read_to_string(world.config()).unwrap();
        let toml = toml.split("[limits]").next().unwrap().to_owned();
        std::fs::write(world.config(), format!("{toml}[limits]\nworkflow_cost = {usd}\n")).unwrap();
    };
    limit(9.0);
    world.ok("ask-answer", &["docs", "next"]);
    let out = world.run("relaunch", &["docs"]);
    assert!(out.words().contains("nothing is left of limits.workflow_cost = 9 USD"), "{}", out.words());
    limit(9.1);
    world.ok("relaunch", &["retry", "docs"]);
    assert_eq!(world.state("docs"), "delivered");
}

mod promises {
    use super::*;

    #[test]
    fn nothing_that_is_open_goes_whatever_its_age() {
        let world = World::stepping(r#"[ -e "$AGENT_DIR/broken" ] && exit 3; work"#);
        world.make_mailbox();
        world.configure("attempts = 1\n");
        gc(&world, &["--keep", "0s"]);
        for id in ["pending", "answered", "parked", "waited-for"] {
            world.ok("ask-post", &["-w", id, "Merge?", "-o", "a=A", "-o", "b=B"]);
        }
        world.ok("ask-answer", &["answered", "a"]);
        world.ok("ask-answer", &["parked", "a"]);
        std::fs::write(world.agent("broken"), "").unwrap();
        assert!(!world.run("relaunch", &["parked"]).status.success());
        std::fs::remove_file(world.agent("broken")).unwrap();
        assert_eq!(world.state("parked"), "parked");
        // A live run, stopped in the middle of its work.
        world.ok("ask-post", &["-w", "running", "Merge?", "-o", "a=A", "-o", "b=B"]);
        world.ok("ask-answer", &["running", "a"]);
        world.hold("tool");
        let mut run = world.command("relaunch").arg("running").stdout(std::process::Stdio::null()).spawn().expect("a run");
        until("it is at work", || world.is_held("tool"));
        // Its supervisor has written all that it has to say.
        asleep(run.id().cast_signed());
        std::fs::write(world.in_mailbox("quarantine/x.json"), "{").unwrap();
        world.ok("checkpoint", &["save", "never-asked", "--step", "one"]);
        let before = everything(&world);
        assert_eq!(gc(&world, &["--keep", "0s"])["rounds"], 0);
        let after = everything(&world);
        let differ: Vec<_> =
            before.keys().chain(after.keys()).filter(|name| before.contains_key(*name) != after.contains_key(*name)).collect();
        assert!(differ.is_empty(), "something open was touched: {differ:?}");
        world.let_go("tool");
        assert!(run.wait().unwrap().success());
        assert_eq!(world.state("running"), "delivered");
        world.ok("relaunch", &["answered"]);
        world.ok("ask-answer", &["pending", "b"]);
        world.ok("relaunch", &["pending"]);
        world.ok("relaunch", &["retry", "parked"]);
        assert_eq!(gc(&world, &["--keep", "0s"])["workflows"], 4);
    }

    #[test]
    fn a_round_with_a_locked_run_or_an_inline_waiter_stays() {
        let world = world();
        gc(&world, &["--keep", "0s"]);
        let round = deliver(&world, "docs");
        let lock = std::fs::File::open(world.in_mailbox(format!("runs/docs/{round}/lock"))).unwrap();
        lock.lock_exclusive().unwrap();
        let before = everything(&world);
        let report = gc(&world, &["--keep", "0s"]);
        assert!(everything(&world) == before, "a locked round was touched");
        assert_eq!(report["left"][0]["subject"], "docs");
        drop(lock);
        let waiter = std::fs::File::create(world.in_mailbox("runs/docs/waiter")).unwrap();
        waiter.lock_exclusive().unwrap();
        assert_untouched(&world, "its waiter's lock is held");
        drop(waiter);
        // Another test that starts a program holds a copy of the lock until that program runs.
        until("the workflow is pruned", || gc(&world, &["--keep", "0s"])["workflows"] == 1);
        assert_eq!(traces(&world, "docs"), Vec::<PathBuf>::new());
    }

    #[test]
    fn what_an_open_workflow_leans_on_or_waits_for_stays() {
        let world = world();
        gc(&world, &["--keep", "0s"]);
        for id in ["grandparent", "parent", "child", "sibling"] {
            deliver(&world, id);
        }
        let record = |id: &str| world.in_mailbox(format!("workflows/{id}.json"));
        change(&record("parent"), |w| w["parent"] = "grandparent".into());
        change(&record("sibling"), |w| w["parent"] = "parent".into());
        // A question that was asked in the parent's run: its answer may have to fork that session.
        let asked = output(world.command("ask-post").args(["-w", "asks", "?"]).env("ASKBOX_WORKFLOW_ID", "parent"));
        assert!(asked.status.success(), "{}", asked.words());
        let asks = json(&world.in_mailbox("pending/asks.json"));
        assert_eq!(asks["parent"], "parent");
        let before = everything(&world);
        assert_eq!(gc(&world, &["--keep", "0s"])["workflows"], 2, "what nobody waits for");
        let after = everything(&world);
        let is_of = |path: &Path, id: &str| path.components().any(|c| c.as_os_str().to_string_lossy().split('.').next() == Some(id));
        assert!(!after.keys().any(|p| is_of(p, "child") || is_of(p, "sibling")));
        assert!(before.iter().all(|(p, bytes)| is_of(p, "child") || is_of(p, "sibling") || after.get(p) == Some(bytes)));
        world.ok("ask-answer", &["cancel", "asks"]);
        assert_eq!(gc(&world, &["--keep", "0s"])["workflows"], 3);
        assert_eq!(traces(&world, "parent"), Vec::<PathBuf>::new());

        // Somebody waits for a child; a parent waits.
        deliver(&world, "c");
        deliver(&world, "p");
        std::fs::create_dir(world.in_mailbox("awaits/p")).unwrap();
        let wait = object!({"schema_version": 1, "await_id": "01a200d3-6403-73d0-b0a8-62f4627a962f", "parent": "p", "child": "c",
        "created": "2026-01-01T00:00:00Z"});
        std::fs::write(world.in_mailbox("awaits/p/c.json"), wait.to_string()).unwrap();
        assert_untouched(&world, "a child is awaited");
        std::fs::remove_dir_all(world.in_mailbox("awaits/p")).unwrap();
        // The tree above is open: what was begun in it may be asked for its result.
        change(&record("c"), |w| w["parent"] = "p".into());
        world.ok("ask-post", &["-w", "p", "Again?"]);
        assert_untouched(&world, "the parent is open");
        world.ok("ask-answer", &["cancel", "p"]);
        assert_eq!(gc(&world, &["--keep", "0s"])["workflows"], 2);
    }
}
