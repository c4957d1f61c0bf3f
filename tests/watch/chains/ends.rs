//! Children that end without a reply, and processes that die in the middle of a chain.

use std::time::{Duration, Instant};

use crate::support::{Signal, signal, until};
use crate::watch::chains::scripted::{ASKS, Tree, passes_on};

#[test]
fn a_cancelled_and_an_expired_question_each_wake_the_parent() {
    let tree = Tree::new();
    tree.does("a", "if [ $n = 1 ]; then relaunch spawn -w taken --prompt go; else echo woken; fi");
    // It waits for nothing in its own turn, where the expiry might come first.
    tree.does("b", "if [ $n = 1 ]; then relaunch spawn --background -w late --prompt go; else echo woken; fi");
    tree.does("taken", ASKS);
    tree.does("late", "ask-post 'When?' --timeout 1s --on-expiry cancel");
    let _watcher = tree.world.watch();
    tree.spawn("a");
    tree.world.ok("ask-answer", &["cancel", "taken", "--why", "no time"]);
    tree.spawn("b");
    assert_eq!((tree.result("a"), tree.result("b")), ("woken".into(), "woken".into()));
    let (a, b) = (tree.world.told("a", 2), tree.world.told("b", 2));
    assert!(a.contains("taken has no reply, it is withdrawn: no time"), "{a}");
    assert!(b.contains("late has no reply, it is expired: "), "{b}");
    assert_eq!(tree.resume("taken"), (1, "withdrawn (taken): no time".into()));
}

#[test]
fn a_watcher_killed_between_two_wake_ups_leaves_the_rest() {
    let tree = Tree::new();
    tree.does("root", &passes_on("middle"));
    tree.does(
        "middle",
        "if [ $n = 1 ]; then relaunch spawn -w leaf --prompt go; else while [ ! -e \"$AGENT_DIR/go\" ]; do sleep 0.05; done; news; fi",
    );
    tree.does("leaf", ASKS);
    let watcher = tree.world.watch();
    tree.spawn("root");
    tree.answer("leaf");
    tree.world.told("middle", 2);
    // Killed, as a dropped watcher is.
    drop(watcher);
    std::fs::write(tree.world.agent("go"), "").unwrap();
    until("the end of the middle", || Some(tree.status("middle")).filter(|s| s["state"] == "delivered"));
    assert_eq!(tree.status("root")["state"], "awaiting");
    let _watcher = tree.world.watch();
    assert_eq!(tree.result("root"), "passed on: it is 2");
    assert_eq!(["root", "middle", "leaf"].map(|id| tree.launches(id)), [2, 2, 2]);
}

#[test]
fn a_stopped_parent_is_told_of_its_child_when_it_goes_on() {
    let tree = Tree::new();
    tree.does("root", "case $n in 1) relaunch spawn -w child --prompt go;; 2) echo went on;; *) news;; esac");
    tree.does("child", "while [ ! -e \"$AGENT_DIR/go\" ]; do sleep 0.05; done; echo survived");
    let _watcher = tree.world.watch();
    let root = std::thread::scope(|scope| {
        let root = scope.spawn(|| tree.world.run("relaunch", &["spawn", "-w", "root", "--prompt", "go"]));
        tree.world.told("child", 1);
        tree.world.ok("relaunch", &["stop", "--now", "--grace", "1s", "root"]);
        root.join().unwrap()
    });
    assert_eq!(root.status.code(), Some(1));
    assert!(root.stdout.starts_with("interrupted (root): "));
    assert_eq!(tree.status("child")["state"], "running");
    std::fs::write(tree.world.agent("go"), "").unwrap();
    assert_eq!(tree.result("child"), "survived");
    assert_eq!(tree.launches("root"), 1);
    // It was stopped: it is not woken behind its operator's back.
    assert_eq!(tree.status("root")["state"], "interrupted");
    tree.world.ok("relaunch", &["root"]);
    until("the news", || Some(tree.status("root")).filter(|s| s["result"] == "survived"));
    assert_eq!((tree.launches("root"), tree.launches("child")), (3, 1));
    tree.nobody_waits();
}

#[test]
fn a_killed_spawn_loses_nothing() {
    let tree = Tree::new();
    tree.does("root", "if [ $n = 1 ]; then relaunch spawn -w child --prompt go & echo $! >\"$AGENT_DIR/pid\"; wait $!; else news; fi");
    tree.does("child", "while [ ! -e \"$AGENT_DIR/go\" ]; do sleep 0.05; done; echo kept");
    let _watcher = tree.world.watch();
    let said = std::thread::scope(|scope| {
        let root = scope.spawn(|| tree.spawn("root"));
        tree.world.told("child", 1);
        let pid = until("the pid", || std::fs::read_to_string(tree.world.agent("pid")).ok()?.trim().parse::<i32>().ok());
        signal(pid, Signal::KILL);
        until("the end of the turn", || Some(tree.status("root")).filter(|s| s["state"] == "awaiting"));
        std::fs::write(tree.world.agent("go"), "").unwrap();
        root.join().unwrap()
    });
    assert_eq!(said, "kept");
    assert_eq!((tree.launches("root"), tree.launches("child")), (2, 1));
    tree.nobody_waits();
}

#[test]
fn a_parent_that_dies_in_mid_spawn_waits_for_the_same_child() {
    let tree = Tree::new();
    tree.does("root", "echo $PPID >\"$AGENT_DIR/pid\"; relaunch spawn -w child --prompt go");
    tree.does("child", "while [ ! -e \"$AGENT_DIR/go\" ]; do sleep 0.05; done; echo kept");
    let _watcher = tree.world.watch();
    tree.world.ok("relaunch", &["spawn", "--background", "-w", "root", "--prompt", "go"]);
    tree.world.told("child", 1);
    let supervisor = std::fs::read_to_string(tree.world.agent("pid")).unwrap().trim().parse().unwrap();
    signal(supervisor, Signal::KILL);
    tree.world.told("root", 2);
    std::fs::write(tree.world.agent("go"), "").unwrap();
    // In its own turn: nobody had to wake it.
    assert_eq!(tree.result("root"), "kept");
    assert_eq!((tree.launches("root"), tree.launches("child")), (2, 1));
    assert_eq!(tree.world.rounds("closed", "root").len(), 1);
    tree.nobody_waits();
}

#[test]
fn the_same_words_after_an_answer_are_another_child() {
    let tree = Tree::new();
    let same = "relaunch spawn --prompt same";
    tree.does("root", &format!("if [ $n = 1 ]; then {same} & {same} & wait; {same}; {same} --background; fi"));
    let _watcher = tree.world.watch();
    tree.spawn("root");
    until("the second turn", || (tree.launches("root") == 2).then_some(()));
    tree.nobody_waits();
    let launched = std::fs::read_to_string(tree.world.agent("launches")).unwrap();
    let children: std::collections::BTreeSet<_> = launched.lines().filter(|l| !l.starts_with("root/")).collect();
    assert_eq!(children.len(), 4, "{launched}");
}

/// Its parent's tools are ended while it is only just being started: it is still found among their descendants.
#[test]
fn a_just_started_child_does_not_end_with_its_parents_tools() {
    // A supervisor ignores signals only while it is young. The signal may come later, on a very busy machine.
    until("the signal came in time", the_signal_changed_nothing);
}

fn the_signal_changed_nothing() -> bool {
    let tree = Tree::new();
    tree.does("root", "relaunch spawn -w child --prompt go");
    tree.does("child", "kill -TERM $PPID; sleep 0.5; echo kept");
    let begun = Instant::now();
    let said = tree.world.run("relaunch", &["spawn", "-w", "root", "--prompt", "go"]).stdout;
    if said.trim_end() != "kept" {
        assert!(begun.elapsed() > Duration::from_secs(2), "the signal came in time: {said}");
        return false;
    }
    let events = tree.world.ok("relaunch", &["events", "child"]);
    assert!(!events.contains("stopping"), "{events}");
    true
}

#[test]
fn a_wait_that_cannot_be_read_holds_up_its_own_parent_alone() {
    let tree = Tree::new();
    for id in ["a", "b"] {
        tree.does(id, &passes_on(&format!("{id}-leaf")));
        tree.does(&format!("{id}-leaf"), ASKS);
        tree.spawn(id);
    }
    let wait = tree.world.in_mailbox("awaits/a/a-leaf.json");
    let whole = std::fs::read_to_string(&wait).unwrap();
    // The workflow that the document names is not the one that its file is named after.
    std::fs::write(&wait, whole.replace("\"child\": \"a-leaf\"", "\"child\": \"b-leaf\"")).unwrap();
    ["a-leaf", "b-leaf"].iter().for_each(|id| tree.answer(id));
    let watcher = tree.world.watch();
    assert_eq!(tree.result("b"), "passed on: it is 2");
    watcher.says("awaits/a/a-leaf.json: child: is b-leaf, where the path says a-leaf");
    assert_eq!(tree.launches("a"), 1);
    std::fs::write(&wait, whole).unwrap();
    drop(watcher);
    let _watcher = tree.world.watch();
    assert_eq!(tree.result("a"), "passed on: it is 2");
}

mod promises {
    use super::*;

    #[test]
    fn a_parked_child_wakes_its_parent_with_that_outcome() {
        let tree = Tree::with("[relaunch]\nattempts = 1\n");
        tree.does("root", "if [ $n = 1 ]; then relaunch spawn -w middle --prompt go; else echo \"woken\"; fi");
        tree.does("middle", "if [ $n = 1 ]; then relaunch spawn -w leaf --prompt go; else echo HOPELESS; fi");
        tree.does("leaf", ASKS);
        let _watcher = tree.world.watch();
        tree.spawn("root");
        tree.answer("leaf");
        assert_eq!(tree.result("root"), "woken");
        let told = tree.world.told("root", 2);
        assert!(told.contains("middle has no reply, it is parked: "), "{told}");
        assert!(told.contains("not this time"), "{told}");
        assert_eq!(tree.resume("middle").0, 1);
        tree.nobody_waits();
    }

    #[test]
    fn a_child_that_dies_in_its_parents_turn_is_one_line() {
        let tree = Tree::with("[relaunch]\nattempts = 1\n");
        tree.does("root", "relaunch spawn -w child --prompt go; echo \"status $?\"");
        tree.does("child", "echo HOPELESS");
        let _watcher = tree.world.watch();
        let said = tree.spawn("root");
        assert!(said.starts_with("parked (child): ") && said.ends_with("\nstatus 1"), "{said}");
        assert_eq!(said.lines().count(), 2, "{said}");
        tree.nobody_waits();
    }
}
