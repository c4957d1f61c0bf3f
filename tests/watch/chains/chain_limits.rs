//! The limits of a whole tree: its money, and the working time of its agents.

use crate::support::until;
use crate::watch::chains::scripted::{ASKS, Tree, passes_on};
use askbox::time::Time;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::Duration;

const NONE: &str = "";
const DAY: u64 = 86_400;

/// Root, middle and leaf; the leaf asked, and everybody sleeps.
fn asleep(config: &str) -> Tree {
    let tree = Tree::with(config);
    tree.does("root", &passes_on("middle"));
    tree.does("middle", &passes_on("leaf"));
    tree.does("leaf", ASKS);
    assert_eq!(tree.spawn("root"), "SGN_PEND_STARTED (root)");
    tree
}

/// The same, with room for one more launch of 0.01 USD, which the leaf's helper takes.
fn nearly_used_up() -> Tree {
    let tree = asleep("[limits]\ntree_cost = 0.035\n");
    tree.does("leaf", "relaunch spawn -w helper --prompt go");
    tree.does("helper", "echo helped");
    tree
}

fn held(tree: &Tree, id: &str, state: &str) -> Value {
    let status = until(&format!("{id} is {state}"), || Some(tree.status(id)).filter(|s| s["state"] == state));
    assert_eq!(status["failure"], "tree", "{status}");
    assert!(status["todo"].as_str().unwrap().contains(&format!("relaunch retry {id}")), "{status}");
    status
}

/// A parent of a held workflow goes on waiting, and no model is asked.
fn root_sleeps(tree: &Tree) {
    for _ in 0..3 {
        assert_eq!(tree.resume("root"), (0, "SGN_PEND_ONGOING".into()));
    }
    assert_eq!((tree.status("root")["state"].as_str(), tree.launches("root")), (Some("awaiting"), 1));
}

#[test]
fn a_tree_given_up_at_its_limit_is_told_once_there_is_room() {
    let tree = nearly_used_up();
    let _watcher = tree.world.watch();
    tree.answer("leaf");
    held(&tree, "middle", "parked");
    tree.world.configure(NONE);
    tree.world.ok("relaunch", &["drop", "middle", "--why", "too dear"]);
    tree.result("root");
    assert!(tree.world.told("root", 2).contains("middle has no reply, it is dropped: too dear"));
    tree.nobody_waits();
}

/// The folder of a workflow's only run.
fn only_run(tree: &Tree, id: &str) -> PathBuf {
    let mut rounds = std::fs::read_dir(tree.world.in_mailbox(format!("runs/{id}"))).unwrap().flatten().map(|e| e.path().join("1"));
    rounds.find(|run| run.is_dir()).unwrap()
}

fn time_of(run: &Value, field: &str) -> Time {
    askbox::time::parse_rfc3339(run[field].as_str().unwrap()).unwrap()
}

/// The whole seconds that a workflow's only run took.
fn took(tree: &Tree, id: &str) -> u64 {
    let run = tree.world.json(only_run(tree, id).join("run.json"));
    (time_of(&run, "ended_at") - time_of(&run, "started_at")).num_seconds().try_into().unwrap()
}

/// Moves the times of a workflow's only run into the past, by so many seconds: its launch, its end, and its last event.
fn shift(tree: &Tree, id: &str, [began, ended, heard]: [u64; 3]) {
    let folder = only_run(tree, id);
    let mut run = tree.world.json(folder.join("run.json"));
    for (field, seconds) in [("started_at", began), ("ended_at", ended)] {
        run[field] = json!(askbox::time::rfc3339(time_of(&run, field) - Duration::from_secs(seconds)));
    }
    std::fs::write(folder.join("run.json"), run.to_string()).unwrap();
    let events = std::fs::File::options().append(true).open(folder.join("events.jsonl")).unwrap();
    let before = events.metadata().unwrap().modified().unwrap();
    events.set_modified(before - Duration::from_secs(heard)).unwrap();
}

#[test]
fn time_without_an_agent_does_not_count_for_the_tree() {
    let tree = asleep("[limits]\ntree_time = '1h'\n");
    ["middle", "leaf"].iter().for_each(|id| shift(&tree, id, [3 * DAY; 3]));
    // Its supervisor died with the machine, and its end was written when that was back, days later.
    shift(&tree, "root", [3 * DAY, 0, 3 * DAY]);
    tree.answer("leaf");
    assert_eq!(tree.resume("root"), (0, "passed on: passed on: it is 2".into()));
}

#[test]
fn a_tree_without_time_waits_for_a_higher_limit() {
    let tree = asleep("[limits]\ntree_time = '1h'\n");
    let _watcher = tree.world.watch();
    // One was at work for two hours, and another one beside it.
    shift(&tree, "root", [7200, 0, 0]);
    shift(&tree, "middle", [3600, 0, 0]);
    tree.answer("leaf");
    let status = held(&tree, "leaf", "parked");
    assert_eq!(status["why"], "nothing is left of limits.tree_time = 1h for its whole tree", "{status}");
    root_sleeps(&tree);
    tree.world.configure("[limits]\ntree_time = '2h 30m'\n");
    tree.world.ok("relaunch", &["retry", "leaf"]);
    assert_eq!(tree.result("root"), "passed on: passed on: it is 2");
    tree.nobody_waits();
}

#[test]
fn a_run_in_which_its_trees_time_ends_is_stopped_by_the_ladder() {
    let tree = asleep("[limits]\ntree_time = '1h'\ngrace = '1s'\nsilent_after = '10m'\n");
    tree.does("leaf", "[ $n = 2 ] && say 'I am at work.' && while :; do sleep 0.1; done; echo after all");
    let _watcher = tree.world.watch();
    // The leaf begins before the rest of the hour is over, also where all of them are slow.
    shift(&tree, "root", [3580 - took(&tree, "root"), 0, 0]);
    tree.answer("leaf");
    let status = held(&tree, "leaf", "interrupted");
    assert_eq!(status["why"], "its whole tree was at work for limits.tree_time = 1h", "{status}");
    let log = tree.world.ok("relaunch", &["logs", "leaf"]);
    assert!(log.contains("stopping  the tool call in flight finishes"), "{log}");
    root_sleeps(&tree);
    tree.world.configure("[limits]\ntree_time = '2h'\n");
    tree.world.ok("relaunch", &["leaf"]);
    assert_eq!(tree.result("root"), "passed on: passed on: after all");
    let session = tree.status("leaf")["session_id"].clone();
    assert_eq!(session, status["session_id"]);
    tree.nobody_waits();
}

mod promises {
    use super::*;

    #[test]
    fn a_tree_without_money_starts_nobody_more() {
        let tree = Tree::with("[limits]\ntree_cost = 0.015\nday_cost = 5\n");
        let spawn = |id: &str| format!("relaunch spawn -w {id} --prompt go 2>&1; echo \"status $?\"");
        tree.does("root", &["a", "b", "c"].map(spawn).join("; "));
        ["a", "b", "c"].iter().for_each(|id| tree.does(id, "echo done"));
        let said = tree.spawn("root");
        assert!(said.starts_with("done\nstatus 0\ndone\nstatus 0\n"), "{said}");
        assert!(said.contains("error: nothing is left of limits.tree_cost = 0.015 USD for its whole tree"), "{said}");
        assert!(said.contains("hint: end your turn and say what is missing; the operator can raise the limit"), "{said}");
        assert!(said.ends_with("status 4"), "{said}");
        assert_eq!(["a", "b", "c"].map(|id| tree.launches(id)), [1, 1, 0]);
        let arguments = |id: &str| std::fs::read_to_string(tree.world.agent(&format!("arguments.{id}"))).unwrap();
        assert!(arguments("a").contains("--max-budget-usd=0.015000"), "{}", arguments("a"));
        // The money that the first child has spent does not count for the second one.
        assert!(arguments("b").contains("--max-budget-usd=0.005000"), "{}", arguments("b"));
        // Another tree has its own.
        tree.does("other", "echo done");
        assert_eq!(tree.spawn("other"), "done");
    }

    #[test]
    fn a_parent_that_could_not_be_told_goes_on_with_a_higher_limit() {
        let tree = nearly_used_up();
        let _watcher = tree.world.watch();
        tree.answer("leaf");
        let status = held(&tree, "middle", "parked");
        assert!(status["why"].as_str().unwrap().starts_with("nothing is left of limits.tree_cost = 0.035 USD"), "{status}");
        root_sleeps(&tree);
        // Too early: it is refused again, before anything is launched.
        assert!(!tree.world.run("relaunch", &["retry", "middle"]).status.success());
        assert_eq!(["root", "middle", "leaf"].map(|id| tree.launches(id)), [1, 1, 2]);
        tree.world.configure("[limits]\ntree_cost = 1\n");
        tree.world.ok("relaunch", &["retry", "middle"]);
        assert_eq!(tree.result("root"), "passed on: passed on: helped");
        assert_eq!(["root", "middle", "leaf"].map(|id| tree.launches(id)), [2, 2, 2]);
        tree.nobody_waits();
    }
}
