//! A foreground command does for its own tree what a watcher would do: it needs none, and disturbs none.

use std::process::{Command, Stdio};

use crate::support::{Running, Signal, feed, kill, names, output, signal, until};
use crate::watch::chains::scripted::{ASKS, Tree};
use serde_json::Value;

/// Failed attempts are tried again soon.
pub(super) const SOON: &str = "[relaunch]\nbackoff = '100ms'\nbackoff_max = '200ms'\nsame_failure = 0\n";
/// A parent that ends its turn while its child works, and then passes the child's reply on.
fn leaves(child: &str) -> String {
    format!("if [ $n = 1 ]; then relaunch spawn --background -w {child} --prompt go; else echo \"passed on: $(news)\"; fi")
}
/// Works until the test lets it go.
const WORKS: &str = "while [ ! -e \"$AGENT_DIR/go\" ]; do sleep 0.05; done; echo baked";

/// root, middle, leaf: none waits for the next in its own turn.
fn chain(config: &str) -> Tree {
    let tree = Tree::with(config);
    tree.does("root", &leaves("middle"));
    tree.does("middle", &leaves("leaf"));
    tree.does("leaf", WORKS);
    tree
}

pub(super) fn run(tree: &Tree, id: &str) -> Command {
    std::fs::write(tree.world.path("go.md"), "go").unwrap();
    let mut command = tree.world.command("relaunch");
    command.args(["run", "--stream", "-w", id]).arg(tree.world.path("go.md"));
    command
}

fn let_go(tree: &Tree) {
    std::fs::write(tree.world.agent("go"), "").unwrap();
}

fn launches(tree: &Tree) -> [usize; 3] {
    ["root", "middle", "leaf"].map(|id| tree.launches(id))
}

/// Both parents have ended their first turn, and the leaf works.
fn only_the_leaf_works(tree: &Tree) {
    tree.world.told("leaf", 1);
    for id in ["root", "middle"] {
        until(&format!("the first turn of {id} is over"), || tree.status(id)["state"] == "awaiting");
    }
}

#[test]
fn a_foreground_command_beside_a_watcher_launches_nothing_twice() {
    let tree = chain(SOON);
    let _watcher = tree.world.watch();
    let running = run(&tree, "root").stdout(Stdio::piped()).spawn().unwrap();
    only_the_leaf_works(&tree);
    let_go(&tree);
    assert!(running.wait_with_output().unwrap().status.success());
    assert_eq!(tree.result("root"), "passed on: passed on: baked");
    assert_eq!(launches(&tree), [2, 2, 1]);
    tree.nobody_waits();
}

#[test]
fn a_watcher_that_dies_leaves_the_tree_to_the_command() {
    let tree = chain("");
    let watcher = tree.world.watch();
    let running = run(&tree, "root").stdout(Stdio::piped()).spawn().unwrap();
    only_the_leaf_works(&tree);
    watcher.kill();
    let_go(&tree);
    assert!(running.wait_with_output().unwrap().status.success());
    assert_eq!((tree.result("root").as_str(), launches(&tree)), ("passed on: passed on: baked", [2, 2, 1]));
    tree.nobody_waits();
}

#[test]
fn a_supervisor_that_dies_below_is_replaced_by_the_command() {
    let tree = chain(SOON);
    let running = run(&tree, "root").stdout(Stdio::piped()).spawn().unwrap();
    only_the_leaf_works(&tree);
    tree.world.processes("supervise").iter().for_each(|pid| kill(*pid));
    tree.world.told("leaf", 2);
    let_go(&tree);
    assert!(running.wait_with_output().unwrap().status.success());
    assert_eq!((tree.result("root").as_str(), launches(&tree)), ("passed on: passed on: baked", [2, 2, 2]));
}

#[test]
fn a_killed_foreground_command_leaves_its_tree_to_the_next() {
    let tree = chain("");
    let running = Running::start(run(&tree, "root").stdout(Stdio::null()));
    only_the_leaf_works(&tree);
    running.kill();
    let_go(&tree);
    until("the leaf has ended", || tree.status("leaf")["state"] == "delivered");
    assert_eq!(tree.resume("root"), (0, "passed on: passed on: baked".into()));
    assert_eq!(launches(&tree), [2, 2, 1]);
    tree.nobody_waits();
}

#[test]
fn a_parent_that_is_run_by_hand_lets_its_tree_go_on() {
    let tree = Tree::new();
    tree.does("root", &leaves("middle"));
    tree.does("middle", &leaves("leaf"));
    tree.does("leaf", ASKS);
    let asking = tree.world.run("relaunch", &["run", "-w", "root", "--prompt", "go"]);
    assert!(asking.status.success(), "{}", asking.stderr);
    tree.answer("leaf");
    let said = tree.world.run("relaunch", &["root"]);
    assert!(said.status.success() && said.stdout.contains("passed on: passed on: it is 2"), "{}{}", said.stdout, said.stderr);
    assert_eq!(launches(&tree), [2, 2, 2]);
    tree.nobody_waits();
}

#[test]
fn a_child_has_its_parents_environment_without_a_watcher_only() {
    for is_watched in [true, false] {
        let tree = Tree::unfenced();
        tree.does("root", "FROM=parent CODEX_SANDBOX_NETWORK_DISABLED=1 relaunch spawn -w leaf --prompt go 2>\"$AGENT_DIR/warned\"");
        tree.does("leaf", "echo \"from ${FROM-the watcher}\"");
        let _watcher = is_watched.then(|| tree.world.watch());
        let (from, warning) = if is_watched {
            ("from the watcher", "")
        } else {
            ("from parent", "warning: no watcher runs, so leaf works in this sandbox, with its network and its PATH: relaunch watch\n")
        };
        assert_eq!(tree.spawn("root"), from);
        assert_eq!(std::fs::read_to_string(tree.world.agent("warned")).unwrap(), warning);
        tree.nobody_waits();
    }
}

#[test]
fn a_child_is_started_although_its_parents_take_all_places() {
    let tree = Tree::with("[relaunch]\nmax_concurrent = 1\n");
    tree.does("root", "relaunch spawn -w middle --prompt go");
    tree.does("middle", "relaunch spawn -w leaf --prompt go");
    tree.does("leaf", "echo baked");
    let _watcher = tree.world.watch();
    assert_eq!(tree.spawn("root"), "baked");
    assert_eq!(launches(&tree), [1, 1, 1]);
}

#[test]
fn two_foreground_commands_for_one_tree_launch_nothing_twice() {
    let tree = chain(SOON);
    let running = run(&tree, "root").stdout(Stdio::piped()).spawn().unwrap();
    only_the_leaf_works(&tree);
    let mut second = tree.world.command("relaunch");
    let second = second.args(["resume", "root"]).stdout(Stdio::piped()).spawn().unwrap();
    let_go(&tree);
    assert!(running.wait_with_output().unwrap().status.success());
    let said = second.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&said.stdout), "passed on: passed on: baked\n");
    assert_eq!(launches(&tree), [2, 2, 1]);
    tree.nobody_waits();
}

#[test]
fn ctrl_c_during_a_back_off_stops_the_run_and_keeps_it() {
    let tree = Tree::with("[relaunch]\nbackoff = '1h'\n");
    tree.does("w", "if [ $n = 1 ]; then echo HOPELESS; else echo at last; fi");
    let running = run(&tree, "w").stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    tree.world.told("w", 1);
    until("its back-off", || tree.status("w")["state"] == "retrying");
    let pid = i32::try_from(running.id()).unwrap();
    // The signal may come before the command waits: then it is noticed as soon as it does.
    signal(pid, Signal::INT);
    let ended = running.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert_eq!(ended.status.code(), Some(1), "{said}");
    assert!(said.contains("w was stopped: stopped by SIGINT") && said.contains("to continue it: relaunch w"), "{said}");
    assert_eq!(tree.status("w")["state"], "interrupted");
    let outcome = tree.world.run("relaunch", &["w"]).ok();
    assert!(outcome.stdout.contains("at last"), "{outcome:?}");
}

#[test]
fn ctrl_c_while_a_child_works_leaves_it_and_names_commands() {
    let tree = chain("");
    let running = run(&tree, "root").stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    only_the_leaf_works(&tree);
    signal(i32::try_from(running.id()).unwrap(), Signal::INT);
    let ended = running.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert_eq!(ended.status.code(), Some(1), "{said}");
    assert!(said.contains("relaunch stop --tree root"), "{said}");
    let_go(&tree);
    assert_eq!(tree.result("leaf"), "baked");
    assert_eq!(launches(&tree), [1, 1, 1]);
}

#[test]
fn a_reader_that_goes_away_during_a_back_off_stops_the_run() {
    let tree = Tree::with("[relaunch]\nbackoff = '1h'\n");
    tree.does("w", "echo HOPELESS");
    let mut running = run(&tree, "w").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    tree.world.told("w", 1);
    until("its back-off", || tree.status("w")["state"] == "retrying");
    drop(running.stdout.take());
    let ended = running.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(1), "{ended:?}");
    assert_eq!(tree.status("w")["state"], "interrupted");
}

#[test]
fn a_paused_queue_holds_up_the_retries_of_a_command() {
    let tree = Tree::with("[relaunch]\nbackoff = '50ms'\nattempts = 5\nsame_failure = 0\nbreaker_failures = 1\nbreaker_pause = '1h'\n");
    tree.does("w", "echo HOPELESS");
    let mut running = run(&tree, "w").stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let stderr = running.stderr.take().unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(stderr));
    let first = lines.next().unwrap().unwrap();
    assert!(first.contains("paused"), "{first}");
    assert_eq!(tree.launches("w"), 1);
    signal(i32::try_from(running.id()).unwrap(), Signal::TERM);
    assert_eq!(running.wait().unwrap().code(), Some(1));
    assert_eq!((tree.launches("w"), tree.status("w")["state"].clone()), (1, "interrupted".into()));
}

#[test]
fn a_foreground_command_ends_with_0_at_a_waiting_question() {
    let tree = Tree::new();
    tree.does("w", ASKS);
    let outcome = output(&mut run(&tree, "w")).ok();
    assert_eq!(outcome.events().last().unwrap()["type"], "question_posted", "{outcome:?}");
    tree.answer("w");
    assert!(tree.world.run("relaunch", &["w"]).ok().stdout.contains("it is 2"));
}

#[test]
fn a_foreground_command_leaves_other_trees_alone() {
    let tree = chain("");
    tree.does("other", ASKS);
    feed(tree.world.command("relaunch").args(["run", "-w", "other", "-"]), b"go").ok();
    let running = run(&tree, "root").stdout(Stdio::null()).spawn().unwrap();
    only_the_leaf_works(&tree);
    tree.answer("other");
    let_go(&tree);
    assert!(running.wait_with_output().unwrap().status.success());
    assert_eq!((tree.launches("other"), names(&tree.world.in_mailbox("answered")).len()), (1, 1));
}

mod promises {
    use super::*;

    #[test]
    fn a_failed_run_is_tried_again_by_its_command() {
        let tree = Tree::with(SOON);
        tree.does("w", "if [ $n -lt 3 ]; then echo HOPELESS; else echo at last; fi");
        let outcome = output(&mut run(&tree, "w")).ok();
        assert_eq!(outcome.result()["text"], "at last", "{outcome:?}");
        assert_eq!(tree.launches("w"), 3);
        let attempts: Vec<&str> = outcome.stdout.lines().filter(|l| l.contains("\"started\"")).collect();
        assert_eq!(attempts.len(), 3, "each attempt is shown once: {outcome:?}");
        assert_eq!(outcome.stderr, "");
    }

    #[test]
    fn a_prompt_may_stand_on_the_command_line_of_run() {
        let tree = Tree::new();
        let outcome = tree.world.run("relaunch", &["run", "--stream", "-w", "w", "--prompt", "Count the files."]).ok();
        assert_eq!(outcome.result()["text"], "done", "{outcome:?}");
        assert_eq!(tree.world.told("w", 1), "Count the files.");
        assert_eq!(tree.world.run("relaunch", &["run"]).code(), 2);
        assert_eq!(tree.world.run("relaunch", &["run", "--prompt", "one", "two.md"]).code(), 2);
    }

    #[test]
    fn a_run_without_attempts_ends_with_its_retrying_command() {
        let tree = Tree::with("[relaunch]\nbackoff = '50ms'\nattempts = 2\n");
        tree.does("w", "echo HOPELESS");
        let outcome = output(&mut run(&tree, "w"));
        assert_eq!(outcome.code(), 1, "{outcome:?}");
        assert!(outcome.stderr.contains("w is parked: ") && outcome.stderr.contains("relaunch retry w"), "{outcome:?}");
        assert_eq!(tree.launches("w"), 2);
    }

    #[test]
    fn one_foreground_command_wakes_a_chain_of_three() {
        let tree = chain("");
        let running = run(&tree, "root").stdout(Stdio::piped()).spawn().unwrap();
        only_the_leaf_works(&tree);
        let summary: Value = serde_json::from_str(&tree.world.ok("relaunch", &["status", "--summary", "--json"])).unwrap();
        assert_eq!(summary["watched"], false, "a command that waits for one tree is not the watcher of others: {summary}");
        let_go(&tree);
        let said = running.wait_with_output().unwrap();
        assert!(said.status.success());
        let said = String::from_utf8_lossy(&said.stdout).into_owned();
        let last: Value = serde_json::from_str(said.lines().last().unwrap()).unwrap();
        assert_eq!(last["text"], "passed on: passed on: baked", "{said}");
        assert_eq!(launches(&tree), [2, 2, 1]);
        tree.nobody_waits();
    }
}
