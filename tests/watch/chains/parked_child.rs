//! A parent that was told that its child is parked, and that ends its turn with a signal: it waits for that child. Once the child was
//! mended and retried, its reply reaches the parent and everything above it.

use crate::support::until;
use crate::watch::chains::scripted::{ASKS, Tree, passes_on};

/// The leaf of the first design: its first turn ends with a signal and nothing behind it. Mended, it asks.
const FIRST_DESIGN: &str = "case $n in 1) echo SGN_PEND_STARTED;; 2) ask-post 'When?';; *) echo \"it is $n\";; esac";

/// Starts the leaf, and says that it waits for it, whatever the command printed.
const WAITS: &str = "if [ $n = 1 ]; then relaunch spawn -w leaf --prompt go; echo SGN_PEND_STARTED; else echo \"passed on: $(news)\"; fi";

fn awaits(tree: &Tree, id: &str) {
    until(&format!("{id} awaits"), || (tree.status(id)["state"] == "awaiting").then_some(()));
}

#[test]
fn a_wait_for_a_parked_child_is_told_of_its_next_end_only() {
    let tree = Tree::new();
    let told = "relaunch spawn --timeout 1ms -w leaf --prompt go >/dev/null";
    tree.does("root", &format!("case $n in 1) {told}; echo 'SGN_PEND_STARTED (leaf)';; 4) news;; *) echo SGN_PEND_STARTED;; esac"));
    tree.does("leaf", "[ $n = 1 ] && until [ -f \"$AGENT_DIR/go\" ]; do sleep 0.05; done; [ $n = 3 ] && echo done || echo SGN_UNHANDLED");
    let watcher = tree.world.watch();
    tree.world.run("relaunch", &["spawn", "--timeout", "1ms", "-w", "root", "--prompt", "go"]);
    awaits(&tree, "root");
    std::fs::write(tree.world.agent("go"), "").unwrap();
    // It is woken with the parking, and waits again.
    let told = tree.world.told("root", 2);
    assert!(told.contains("leaf has no reply, it is parked: it ended its turn with `SGN_UNHANDLED`"), "{told}");
    awaits(&tree, "root");
    watcher.stop();
    // Another watcher does not wake it for the same parking.
    let _watcher = tree.world.watch();
    tree.world.ok("ask-post", &["-w", "bystander", "?"]);
    tree.world.ok("ask-answer", &["bystander", "yes"]);
    tree.result("bystander");
    assert_eq!(tree.launches("root"), 2);
    // The next attempt is parked too, and that is news.
    tree.world.run("relaunch", &["retry", "leaf"]);
    assert!(tree.world.told("root", 3).contains("leaf has no reply, it is parked"));
    awaits(&tree, "root");
    tree.world.run("relaunch", &["retry", "leaf"]);
    assert!(tree.world.told("root", 4).contains("leaf finished. Its reply:\n> done"));
    until("the end of the root", || (tree.status("root")["state"] == "delivered").then_some(()));
    tree.nobody_waits();
}

#[test]
fn a_parent_that_repeats_spawns_line_waits_for_its_child() {
    let tree = Tree::new();
    tree.does("root", &passes_on("middle"));
    tree.does("middle", &passes_on("leaf"));
    tree.does("leaf", FIRST_DESIGN);
    assert_eq!(tree.spawn("root"), "SGN_PEND_STARTED (root)");
    assert_eq!(
        ["leaf", "middle", "root"].map(|id| tree.status(id)["state"].as_str().unwrap().to_owned()),
        ["parked", "awaiting", "awaiting"]
    );
    let _watcher = tree.world.watch();
    tree.world.ok("relaunch", &["retry", "leaf"]);
    tree.answer("leaf");
    assert_eq!(tree.result("root"), "passed on: passed on: it is 3");
    tree.nobody_waits();
}

#[test]
fn words_beside_the_line_and_the_line_of_another_are_a_reply() {
    let tree = Tree::unfenced();
    tree.does("other", FIRST_DESIGN);
    tree.world.run("relaunch", &["spawn", "-w", "other", "--prompt", "go"]);
    tree.does("root", "relaunch spawn -w leaf --prompt go >/dev/null; relaunch drop leaf >/dev/null; echo 'parked (leaf): was given up'");
    tree.does("leaf", FIRST_DESIGN);
    assert_eq!(tree.spawn("root"), "parked (leaf): was given up");
    let line = "parked (other): it ended";
    tree.does("mean", &format!("echo '{line}'"));
    assert_eq!(tree.spawn("mean"), line);
    tree.does(
        "words",
        &format!("relaunch spawn -w child --prompt go >/dev/null; echo 'I did it myself.'; echo '{line}'").replace("other", "child"),
    );
    tree.does("child", FIRST_DESIGN);
    assert_eq!(tree.spawn("words"), "I did it myself.\nparked (child): it ended");
}

#[test]
fn a_dropped_child_ends_the_wait_of_its_parent() {
    let tree = Tree::new();
    tree.does("root", WAITS);
    tree.does("leaf", FIRST_DESIGN);
    assert_eq!(tree.spawn("root"), "SGN_PEND_STARTED (root)");
    let _watcher = tree.world.watch();
    tree.world.ok("relaunch", &["drop", "leaf"]);
    let told = tree.world.told("root", 2);
    assert!(told.contains("leaf has no reply, it is dropped: it was given up"), "{told}");
    tree.result("root");
    tree.nobody_waits();
}

#[test]
fn an_agent_without_a_rule_does_not_wait_for_its_parked_child() {
    let tree = Tree::new();
    tree.does("root", &WAITS.replace("echo SGN_PEND_STARTED", "echo SGN_UNHANDLED"));
    tree.does("leaf", FIRST_DESIGN);
    let output = tree.world.run("relaunch", &["spawn", "-w", "root", "--prompt", "go"]);
    assert!(output.stdout.starts_with("parked (root): it ended its turn with `SGN_UNHANDLED`"), "{output:?}");
}

#[test]
fn a_retry_says_that_the_parent_ended_without_the_reply() {
    let tree = Tree::new();
    tree.does("root", "relaunch spawn -w leaf --prompt go >/dev/null; echo 'I did it myself.'");
    tree.does("leaf", &ASKS.replace("ask-post 'When?'", "echo SGN_UNHANDLED"));
    assert_eq!(tree.spawn("root"), "I did it myself.");
    let retried = tree.world.run("relaunch", &["retry", "leaf"]);
    assert_eq!(retried.status.code(), Some(0), "{retried:?}");
    let said = "warning: root ended its work without leaf and is not told how leaf ends; its reply: relaunch resume leaf\n";
    assert_eq!(retried.stderr, said);
    assert_eq!(tree.resume("leaf"), (0, "it is 2".into()));
}

mod promises {
    use super::*;

    #[test]
    fn a_mended_leafs_reply_reaches_every_level_above_it() {
        let tree = Tree::new();
        tree.does("root", &passes_on("middle"));
        tree.does("middle", WAITS);
        tree.does("leaf", FIRST_DESIGN);
        assert_eq!(tree.spawn("root"), "SGN_PEND_STARTED (root)");
        assert_eq!(
            ["leaf", "middle", "root"].map(|id| tree.status(id)["state"].as_str().unwrap().to_owned()),
            ["parked", "awaiting", "awaiting"]
        );
        assert_eq!(tree.resume("root"), (0, "SGN_PEND_ONGOING".into()));

        // Each state names the command that mends it.
        let todo = tree.status("root")["todo"].as_str().unwrap().to_owned();
        assert!(todo.starts_with("leaf is parked; ") && todo.ends_with("relaunch retry leaf"), "{todo}");
        let refused = tree.world.run("relaunch", &["root"]);
        assert_eq!(refused.status.code(), Some(6), "{refused:?}");
        assert_eq!(refused.stderr, format!("error: root waits for middle\nhint: {todo}\n"));
        let doctor = tree.world.run("askbox", &["doctor"]).stdout;
        assert!(doctor.contains("relaunch retry leaf") && !doctor.contains("was not resumed"), "{doctor}");

        tree.world.ok("relaunch", &["retry", "leaf"]);
        assert_eq!(tree.status("leaf")["state"], "pending");
        assert_eq!(tree.status("root")["todo"], "leaf asks a question: ask-answer leaf ANSWER");
        assert_eq!(["root", "middle", "leaf"].map(|id| tree.launches(id)), [1, 1, 2]);
        let _watcher = tree.world.watch();
        tree.answer("leaf");
        assert_eq!(tree.result("root"), "passed on: passed on: it is 3");
        assert_eq!(["root", "middle", "leaf"].map(|id| tree.launches(id)), [2, 2, 3]);
        tree.nobody_waits();
    }
}
