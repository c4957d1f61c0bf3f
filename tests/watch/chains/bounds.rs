//! The limits on the depth and width of a tree, and stopping a whole tree.

use crate::support::until;
use crate::watch::chains::scripted::{ASKS, Tree, passes_on};
use serde_json::Value;

#[test]
fn nobody_waits_for_its_ancestor_itself_or_a_stranger() {
    let tree = Tree::new();
    tree.does("root", &passes_on("child"));
    tree.does("child", "for id in root child other; do relaunch spawn -w $id --prompt go 2>&1; echo \"status $?\"; done");
    tree.does("other", "echo other");
    tree.spawn("other");
    let said = tree.spawn("root");
    assert!(said.contains("root is an ancestor") && said.contains("child is this workflow itself"), "{said}");
    assert!(said.contains("there is a workflow other already"), "{said}");
    assert_eq!(said.matches("status 4").count(), 3, "{said}");
}

#[test]
fn a_cancelled_tree_has_no_open_questions() {
    let tree = Tree::new();
    tree.does("top", "if [ $n = 1 ]; then relaunch spawn -w root --prompt go; else echo woken; fi");
    tree.does("root", &passes_on("leaf"));
    tree.does("leaf", ASKS);
    let _watcher = tree.world.watch();
    tree.spawn("top");
    let said = tree.world.ok("ask-answer", &["cancel", "--tree", "root"]);
    assert_eq!(said, "root: cancelled, with everything below it; 1 question withdrawn\n");
    assert_eq!(tree.result("top"), "woken");
    assert!(tree.world.told("top", 2).contains("root has no reply, it is withdrawn"));
    tells_the_same(&tree, "root");
    tells_the_same(&tree, "leaf");
    assert_eq!((tree.launches("root"), tree.launches("leaf")), (1, 1));
    tree.nobody_waits();
}

/// Status, tree and resume tell the same of a workflow whose tree was cancelled.
#[track_caller]
fn tells_the_same(tree: &Tree, id: &str) {
    let why = "its whole tree was cancelled";
    let state = |told: &Value| assert_eq!((&told["state"], &told["why"]), (&"withdrawn".into(), &why.into()), "{told}");
    state(&tree.status(id));
    let drawn = tree.world.ok("askbox", &["tree", "--json", id]);
    state(&serde_json::from_str(drawn.lines().next().unwrap()).unwrap());
    assert_eq!(tree.resume(id), (1, format!("withdrawn ({id}): {why}")));
    assert_eq!(tree.world.run("relaunch", &["wait", id]).stdout, format!("withdrawn ({id}): {why}\n"));
}

#[test]
fn a_tree_that_is_cancelled_while_it_works_is_told_the_same() {
    let tree = Tree::new();
    tree.does("root", &passes_on("leaf"));
    tree.does("leaf", "while [ ! -e \"$AGENT_DIR/go\" ]; do sleep 0.05; done; echo done");
    let _watcher = tree.world.watch();
    tree.world.ok("relaunch", &["spawn", "--background", "-w", "root", "--prompt", "go"]);
    tree.world.told("leaf", 1);
    tree.world.ok("ask-answer", &["cancel", "--tree", "root"]);
    std::fs::write(tree.world.agent("go"), "").unwrap();
    until("both have ended", || ["root", "leaf"].iter().all(|id| tree.resume(id).0 == 1));
    tells_the_same(&tree, "root");
}

#[test]
fn a_stopped_tree_wakes_nobody_and_goes_on_from_its_leaf() {
    let tree = Tree::new();
    tree.does("root", "if [ $n = 1 ]; then relaunch spawn --timeout 1s -w middle --prompt go; else news; fi");
    tree.does("middle", "if [ $n = 1 ]; then relaunch spawn --timeout 1s -w leaf --prompt go; else news; fi");
    tree.does("leaf", "[ $n = 1 ] && while :; do sleep 0.1; done; echo after all");
    let _watcher = tree.world.watch();
    tree.world.run("relaunch", &["spawn", "--timeout", "1s", "-w", "root", "--prompt", "go"]);
    for id in ["middle", "root"] {
        until("the end of a turn", || Some(tree.status(id)).filter(|s| s["state"] == "awaiting"));
    }
    tree.world.told("leaf", 1);
    tree.world.ok("relaunch", &["stop", "--tree", "--now", "--grace", "1s", "root"]);
    assert_eq!(tree.status("leaf")["state"], "interrupted");
    assert_eq!((tree.launches("root"), tree.launches("middle"), tree.launches("leaf")), (1, 1, 1));
    tree.world.ok("relaunch", &["leaf"]);
    assert_eq!(tree.result("middle"), "after all");
    assert_eq!(tree.result("root"), "after all");
}

#[test]
fn nothing_is_spawned_on_a_day_whose_budget_is_used_up() {
    let tree = Tree::with("[limits]\nday_cost = 0.005\n");
    tree.does("first", "echo done");
    assert_eq!(tree.spawn("first"), "done");
    let output = tree.world.run("relaunch", &["spawn", "-w", "second", "--prompt", "go"]);
    assert_eq!(output.status.code(), Some(4));
    assert!(output.stderr.contains("limits.day_cost = 0.005 USD is used up"));
    assert_eq!((tree.launches("second"), tree.world.run("relaunch", &["status", "second"]).status.code()), (0, Some(3)));
}

mod promises {
    use super::*;

    #[test]
    fn a_level_too_deep_and_a_child_too_many_are_refused() {
        let tree = Tree::with("[chain]\nmax_depth = 2\nmax_children = 2\n");
        let spawn = |id: &str| format!("relaunch spawn --background -w {id} --prompt go 2>&1");
        tree.does("root", &format!("[ $n = 1 ] && {{ {}; {}; {}; }}", spawn("a"), spawn("b"), spawn("c")));
        tree.does("a", &format!("{}; echo \"status $?\"", spawn("deeper")));
        tree.does("b", "echo done");
        let _watcher = tree.world.watch();
        tree.spawn("root");
        until("the second turn", || (tree.launches("root") == 2).then_some(()));
        let record: Vec<_> = tree.world.rounds("closed", "root");
        let first = record.iter().find(|r| r["prompt"] == "go" && r["results"].is_null()).unwrap();
        let run = tree.world.in_mailbox(format!("runs/root/{}/1/run.json", first["question_id"].as_str().unwrap()));
        let said = tree.world.json(run)["result"].as_str().unwrap().to_owned();
        assert!(said.contains("root waits for 2 workflows already, and chain.max_children is 2"), "{said}");
        let deep = tree.result("a");
        assert!(deep.contains("a is on level 2 of its tree, and chain.max_depth is 2") && deep.contains("status 4"), "{deep}");
        assert_eq!((tree.launches("c"), tree.launches("deeper")), (0, 0));
    }

    #[test]
    fn a_child_without_money_by_reservation_is_refused() {
        let tree = Tree::with("[limits]\nday_cost = 1\nrun_cost = 1\n");
        tree.does("root", "relaunch spawn -w child --prompt go 2>&1; echo \"status $?\"");
        let said = tree.spawn("root");
        assert!(said.contains("reserved for live runs (1)") && said.contains("limits.run_cost") && said.contains("status 4"), "{said}");
        assert_eq!(tree.launches("child"), 0);
    }
}
