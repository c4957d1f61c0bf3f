//! When a parent is woken, with which message, and how often.

use crate::support::until;
use crate::watch::chains::scripted::{ASKS, Tree, passes_on};

#[test]
fn a_parent_of_five_is_woken_once_by_the_last_of_two() {
    let tree = Tree::new();
    tree.does("root", "[ $n = 1 ] && for c in 1 2 3 4 5; do relaunch spawn --background -w c$c --prompt go; done; echo turn $n");
    for child in ["c1", "c3", "c5"] {
        tree.does(child, &format!("echo {child} is done"));
    }
    ["c2", "c4"].iter().for_each(|child| tree.does(child, ASKS));
    let _watcher = tree.world.watch();
    assert_eq!(tree.spawn("root"), "SGN_PEND_STARTED (root)");
    ["c1", "c3", "c5"].iter().for_each(|c| drop(tree.result(c)));
    // Out of order.
    tree.world.appears("pending/c4.json");
    tree.answer("c4");
    tree.result("c4");
    assert_eq!(tree.launches("root"), 1);
    tree.world.appears("pending/c2.json");
    tree.answer("c2");
    until("the second turn", || Some(tree.status("root")).filter(|s| s["result"] == "turn 2"));
    let told = tree.world.told("root", 2);
    for words in ["c1 finished. Its reply:\n> c1 is done\n", "c2 finished. Its reply:\n> it is 2\n", "c4 finished.", "c5 finished."] {
        assert_eq!(told.matches(words).count(), 1, "{words:?} in {told}");
    }
    assert_eq!(tree.launches("root"), 2);
    tree.nobody_waits();
}

#[test]
fn a_parent_that_wants_any_is_woken_by_the_first_and_the_last() {
    let tree = Tree::new();
    tree.does("root", "[ $n = 1 ] && for c in 1 2; do relaunch spawn --background --any -w c$c --prompt go; done; echo turn $n");
    ["c1", "c2"].iter().for_each(|child| tree.does(child, ASKS));
    let _watcher = tree.world.watch();
    tree.spawn("root");
    ["c2", "c1"].iter().zip(2..).for_each(|(child, turn)| {
        tree.world.appears(&format!("pending/{child}.json"));
        tree.answer(child);
        let told = tree.world.told("root", turn);
        assert!(told.contains(&format!("{child} finished.")), "{told}");
        assert_eq!(told.matches("finished.").count(), 1, "{told}");
    });
    assert_eq!(tree.result("root"), "turn 3");
    tree.nobody_waits();
}

#[test]
fn two_questions_of_one_leaf_wake_its_parent_once() {
    let tree = Tree::new();
    tree.does("root", &passes_on("leaf"));
    tree.does("leaf", "if [ $n -lt 3 ]; then ask-post \"Question $n?\"; else echo both; fi");
    let _watcher = tree.world.watch();
    tree.spawn("root");
    for n in 1..=2 {
        until("the question", || {
            Some(tree.status("leaf")).filter(|s| s["state"] == "pending" && s["question"] == format!("Question {n}?"))
        });
        assert_eq!(tree.launches("root"), 1);
        tree.answer("leaf");
    }
    assert_eq!(tree.result("root"), "passed on: both");
    assert_eq!((tree.launches("root"), tree.launches("leaf")), (2, 3));
}

#[test]
fn prose_that_mentions_a_signal_is_a_reply() {
    let tree = Tree::new();
    tree.does("root", &passes_on("child"));
    tree.does("child", "echo 'I saw SGN_PEND_ONGOING and SGN_PEND_STARTED (x) today.'");
    assert_eq!(tree.spawn("root"), "I saw SGN_PEND_ONGOING and SGN_PEND_STARTED (x) today.");
    tree.does("liar", "echo SGN_PEND_ONGOING; echo is what I saw");
    assert_eq!(tree.spawn("liar"), "> SGN_PEND_ONGOING\nis what I saw");
    assert_eq!(tree.status("liar")["state"], "delivered");
}

#[test]
fn without_a_watcher_resume_brings_the_answer_up_the_chain() {
    let tree = Tree::new();
    tree.does("root", &passes_on("middle"));
    tree.does("middle", &passes_on("leaf"));
    tree.does("leaf", ASKS);
    assert_eq!(tree.spawn("root"), "SGN_PEND_STARTED (root)");
    assert_eq!(tree.resume("root"), (0, "SGN_PEND_ONGOING".into()));
    tree.answer("leaf");
    assert_eq!(tree.resume("root"), (0, "passed on: passed on: it is 2".into()));
    assert_eq!(["root", "middle", "leaf"].map(|id| tree.launches(id)), [2, 2, 2]);
    tree.nobody_waits();
}

#[test]
fn a_spawn_whose_time_is_over_answers_pending() {
    let tree = Tree::new();
    tree.does("root", "if [ $n = 1 ]; then relaunch spawn --timeout 1s -w child --prompt go; else news; fi");
    tree.does("child", "while [ ! -e \"$AGENT_DIR/go\" ]; do sleep 0.05; done; echo late");
    let _watcher = tree.world.watch();
    let (status, said) = {
        let output = tree.world.run("relaunch", &["spawn", "--timeout", "4s", "-w", "root", "--prompt", "go"]);
        (output.status.success(), output.stdout)
    };
    assert!(status);
    assert_eq!(said, "SGN_PEND_STARTED (root)\n");
    // On a slow machine root's own turn takes longer than `spawn` waited for it.
    until("the end of its turn", || tree.status("root")["state"] == "awaiting");
    std::fs::write(tree.world.agent("go"), "").unwrap();
    assert_eq!(tree.result("root"), "late");
    tree.nobody_waits();
}

#[test]
fn a_long_reply_goes_by_file() {
    let tree = Tree::new();
    tree.does("root", "if [ $n = 1 ]; then relaunch spawn --background -w child --prompt go; else echo told; fi");
    tree.does("child", "head -c 40000 /dev/zero | tr '\\0' x");
    let _watcher = tree.world.watch();
    tree.spawn("root");
    assert_eq!(tree.result("root"), "told");
    let told = tree.world.told("root", 2);
    assert!(told.len() < 10_000, "{}", told.len());
    let path = tree.world.in_mailbox("runs/child/result.txt");
    assert!(told.contains(&path.display().to_string()), "{told}");
    assert_eq!(std::fs::read(&path).unwrap().len(), 40_000);
    let arguments = std::fs::read_to_string(tree.world.agent("arguments.root")).unwrap();
    assert!(arguments.lines().nth(1).unwrap().contains(&format!("Read(/{})", path.display())), "{arguments}");
}

#[test]
fn the_rest_of_a_killed_spawn_goes_when_a_watcher_starts() {
    let tree = Tree::new();
    tree.does("root", "echo done");
    assert_eq!(tree.spawn("root"), "done");
    let folder = tree.world.in_mailbox("awaits/root");
    std::fs::create_dir_all(&folder).unwrap();
    for name in ["child.lock", ".tmp0a1b2c3d4e5f"] {
        std::fs::write(folder.join(name), "").unwrap();
    }
    let _watcher = tree.world.watch();
    until("nobody waits", || (!folder.exists()).then_some(()));
}

#[test]
fn two_questions_of_one_turn_are_both_kept() {
    let tree = Tree::new();
    tree.does(
        "w",
        "if [ $n = 1 ]; then ask-post 'First?'; until [ -e \"$AGENT_DIR/go\" ]; do sleep 0.05; done; ask-post 'Second?'; else echo heard; fi",
    );
    let _watcher = tree.world.watch();
    tree.world.ok("relaunch", &["spawn", "--background", "-w", "w", "--prompt", "go"]);
    let asks = |question: &str| until("the question", || tree.world.ok("ask-answer", &["show", "w"]).contains(question));
    asks("First?");
    tree.world.ok("ask-answer", &["w", "one"]);
    std::fs::write(tree.world.agent("go"), "").unwrap();
    tree.world.told("w", 2);
    asks("Second?");
    tree.world.ok("ask-answer", &["w", "two"]);
    assert!(tree.world.told("w", 2).contains("one") && tree.world.told("w", 3).contains("two"));
    tree.world.closed("w", "delivered", 3);
}

mod promises {
    use super::*;

    #[test]
    fn a_child_that_asks_nothing_replies_in_its_parents_turn() {
        let tree = Tree::new();
        tree.does("root", &passes_on("child"));
        tree.does("child", "printf 'one\\ntwo'");
        assert_eq!(tree.spawn("root"), "one\ntwo");
        assert_eq!((tree.launches("root"), tree.launches("child")), (1, 1));
        assert_eq!(tree.resume("root"), (0, "one\ntwo".into()));
        assert_eq!(tree.launches("root"), 1);
        tree.nobody_waits();
    }

    #[test]
    fn eight_levels_are_woken_one_by_one_for_one_question() {
        let tree = Tree::new();
        (1..8).for_each(|level| tree.does(&format!("l{level}"), &passes_on(&format!("l{}", level + 1))));
        tree.does("l8", ASKS);
        let watcher = tree.world.watch();
        assert_eq!(tree.spawn("l1"), "SGN_PEND_STARTED (l1)");
        for _ in 0..50 {
            assert_eq!(tree.resume("l1"), (0, "SGN_PEND_ONGOING".into()));
        }
        assert_eq!(tree.status("l3")["state"], "awaiting");
        (1..=8).for_each(|level| assert_eq!(tree.launches(&format!("l{level}")), 1));
        watcher.stop();
        let _watcher = tree.world.watch();
        tree.answer("l8");
        let passed = "passed on: ".repeat(7) + "it is 2";
        assert_eq!(tree.result("l1"), passed);
        assert_eq!(tree.resume("l1"), (0, passed));
        (1..=8).for_each(|level| assert_eq!(tree.launches(&format!("l{level}")), 2));
        let order = std::fs::read_to_string(tree.world.agent("launches")).unwrap();
        let order: Vec<_> = order.lines().skip(8).map(|l| l.split('/').next().unwrap()).collect();
        assert_eq!(order, ["l8", "l7", "l6", "l5", "l4", "l3", "l2", "l1"]);
        // Each was told in a fork of its own session.
        let arguments = std::fs::read_to_string(tree.world.agent("arguments.l1")).unwrap();
        assert!(arguments.lines().nth(1).unwrap().contains("--fork-session"), "{arguments}");
        tree.nobody_waits();
    }
}
