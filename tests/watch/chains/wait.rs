//! `relaunch wait`: it waits for the end of a workflow and drives nothing.

use std::process::Stdio;

use crate::support::{Running, until};
use crate::watch::chains::scripted::{ASKS, Tree, passes_on};

#[test]
fn wait_launches_nothing_and_says_that_no_watcher_runs() {
    let tree = Tree::new();
    tree.does("w", ASKS);
    assert_eq!(tree.spawn("w"), "SGN_PEND_STARTED (w)");
    tree.answer("w");
    let waited = tree.world.run("relaunch", &["wait", "w", "--timeout", "100ms"]);
    assert_eq!((waited.code(), waited.stdout.as_str(), tree.launches("w")), (6, "", 1), "{waited:?}");
    assert!(waited.stderr.contains("no watcher runs") && waited.stderr.contains("relaunch resume w"), "{waited:?}");
    assert!(tree.world.in_mailbox("answered/w.json").exists());
    assert_eq!(tree.resume("w"), (0, "it is 2".into()));
    assert_eq!(tree.world.ok("relaunch", &["wait", "w"]), "it is 2\n", "an end that is there is printed at once");
}

#[test]
fn wait_names_the_command_that_shows_the_question() {
    let tree = Tree::new();
    tree.does("w", ASKS);
    assert_eq!(tree.spawn("w"), "SGN_PEND_STARTED (w)");
    let waited = tree.world.run("relaunch", &["wait", "w", "--timeout", "100ms"]);
    assert_eq!(waited.code(), 6, "{waited:?}");
    assert!(waited.stderr.contains("w needs an answer to go on: ask-answer show w"), "{waited:?}");
}

#[test]
fn wait_says_how_a_workflow_ended_without_a_text() {
    let tree = Tree::with("[relaunch]\nattempts = 1\n");
    tree.does("w", "echo HOPELESS");
    assert_eq!(tree.world.run("relaunch", &["run", "-w", "w", "--prompt", "go"]).code(), 1);
    let waited = tree.world.run("relaunch", &["wait", "w"]);
    assert_eq!(waited.code(), 1, "{waited:?}");
    assert!(waited.stdout.starts_with("parked (w): "), "{waited:?}");
    assert_eq!(tree.world.run("relaunch", &["wait", "other"]).code(), 3);
}

#[test]
fn an_awaiting_root_says_what_it_waits_for_and_what_to_type() {
    let tree = Tree::new();
    tree.does("root", &passes_on("leaf"));
    tree.does("leaf", ASKS);
    assert_eq!(tree.spawn("root"), "SGN_PEND_STARTED (root)");
    let todo = |hint: &str| assert_eq!(tree.status("root")["todo"], hint);
    todo("leaf asks a question: ask-answer leaf ANSWER");
    let refused = tree.world.run("relaunch", &["root"]);
    assert_eq!(refused.code(), 6, "{refused:?}");
    assert_eq!(refused.stderr, "error: root waits for leaf\nhint: leaf asks a question: ask-answer leaf ANSWER\n");
    tree.answer("leaf");
    todo("leaf is answered (no watcher runs): relaunch watch, or to run it now: relaunch leaf");
    tree.world.ok("relaunch", &["leaf"]);
    todo("all that it waits for has ended, and a watcher resumes it; to resume it now: relaunch resume root");
    assert_eq!(tree.resume("root"), (0, "passed on: it is 2".into()));
}

mod promises {
    use super::*;

    #[test]
    fn wait_goes_on_over_a_question_and_prints_the_final_text() {
        let tree = Tree::new();
        tree.does("w", ASKS);
        let watcher = tree.world.watch();
        assert_eq!(tree.spawn("w"), "SGN_PEND_STARTED (w)");
        let (said, result) = (tree.world.path("said"), tree.world.path("result"));
        let mut command = tree.world.command("relaunch");
        command.args(["wait", "w", "--timeout", "5m"]);
        command.stdout(std::fs::File::create(&result).unwrap()).stderr(std::fs::File::create(&said).unwrap()).stdin(Stdio::null());
        let mut waiting = Running::start(&mut command);
        until("the person is told of the question", || std::fs::read_to_string(&said).unwrap().contains("needs an answer to go on"));
        tree.answer("w");
        assert!(waiting.wait().success());
        let result = std::fs::read_to_string(&result).unwrap();
        assert_eq!(result, "it is 2\n");
        assert_eq!(tree.resume("w"), (0, result.trim_end().into()));
        assert!(!std::fs::read_to_string(&said).unwrap().contains("no watcher runs"));
        watcher.stop();
    }
}
