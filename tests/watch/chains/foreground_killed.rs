//! A foreground command is killed, at each point of its work: what comes next goes on with a watcher, and without one by the next command.

use std::process::Stdio;

use crate::support::process::{is_alive, stat_field};
use crate::support::{Running, until};
use crate::watch::chains::foreground::{SOON, run};
use crate::watch::chains::scripted::Tree;

/// The process that goes on after the command that was killed.
#[derive(Clone, Copy)]
enum Next {
    Watcher,
    Resume,
}

impl Next {
    /// Lets it go on to the end, and checks that the agent's last words arrive, and nothing is left.
    fn delivers(self, tree: &Tree, launches: usize) {
        let _watcher = match self {
            Self::Watcher => Some(tree.world.watch()),
            Self::Resume => {
                assert_eq!(tree.resume("w"), (0, "at last".into()));
                None
            }
        };
        assert_eq!(tree.result("w"), "at last");
        assert_eq!(tree.launches("w"), launches);
        until("nothing of the runs lives", || tree.world.of_runs().is_empty());
    }
}

/// The command supervises the first attempt itself, and its agent works.
fn killed_in_the_first_attempt(next: Next) {
    let tree = Tree::with(SOON);
    tree.does("w", "if [ $n = 1 ]; then sleep 1000; else echo at last; fi");
    let running = Running::start(run(&tree, "w").stdout(Stdio::null()));
    tree.world.told("w", 1);
    running.kill();
    next.delivers(&tree, 2);
}

/// The first attempt has failed, and the command waits for the date of the second one.
fn killed_in_the_back_off(next: Next) {
    let tree = Tree::with("[relaunch]\nbackoff = '20s'\nsame_failure = 0\n");
    tree.does("w", "if [ $n = 1 ]; then echo HOPELESS; else echo at last; fi");
    let running = Running::start(run(&tree, "w").stdout(Stdio::null()));
    tree.world.told("w", 1);
    until("its back-off", || tree.status("w")["state"] == "retrying");
    running.kill();
    next.delivers(&tree, 2);
}

#[test]
fn a_command_killed_in_the_back_off_leaves_the_watcher_a_retry() {
    killed_in_the_back_off(Next::Watcher);
}

#[test]
fn a_command_killed_in_the_back_off_leaves_the_next_a_retry() {
    killed_in_the_back_off(Next::Resume);
}

/// The second attempt has a supervisor of its own, and that supervisor goes on.
fn killed_in_a_later_attempt(next: Next) {
    let tree = Tree::with(SOON);
    tree.does("w", "if [ $n = 1 ]; then echo HOPELESS; else while [ ! -e \"$AGENT_DIR/go\" ]; do sleep 0.05; done; echo at last; fi");
    let running = Running::start(run(&tree, "w").stdout(Stdio::null()));
    tree.world.told("w", 2);
    running.kill();
    std::fs::write(tree.world.agent("go"), "").unwrap();
    next.delivers(&tree, 2);
}

#[test]
fn a_later_attempt_outlives_its_command_beside_a_watcher() {
    killed_in_a_later_attempt(Next::Watcher);
}

#[test]
fn a_later_attempt_outlives_its_command_for_the_next_one() {
    killed_in_a_later_attempt(Next::Resume);
}

#[test]
fn ending_orphans_spares_the_supervisor_of_another_run() {
    let tree = Tree::new();
    tree.does("w", "relaunch spawn --background -w child --prompt go; echo started; sleep 1000");
    tree.does("child", "while [ ! -e \"$AGENT_DIR/go\" ]; do sleep 0.05; done; echo baked");
    let running = Running::start(run(&tree, "w").stdout(Stdio::null()).stderr(Stdio::null()));
    tree.world.told("child", 1);
    // The process that has detached it may still be about to end.
    let adopter = running.pid().to_string();
    let of_child = until("the supervisor of the child is an orphan that the run's supervisor has adopted", || {
        let supervisors = tree.world.processes("supervise");
        let [only] = supervisors[..] else { return None };
        Some(only).filter(|only| stat_field(*only, 1).as_ref() == Some(&adopter))
    });
    tree.world.ok("relaunch", &["stop", "w", "--now"]);
    until("nothing of the parent's run lives", || tree.status("w")["state"] == "interrupted");
    drop(running);
    assert!(is_alive(of_child), "the supervisor of another run was ended with the run");
    std::fs::write(tree.world.agent("go"), "").unwrap();
    assert_eq!((tree.result("child").as_str(), tree.launches("child")), ("baked", 1));
}

mod promises {
    use super::*;

    #[test]
    fn after_a_killed_foreground_command_the_watcher_tries_once() {
        killed_in_the_first_attempt(Next::Watcher);
    }

    #[test]
    fn after_a_killed_foreground_command_the_next_one_tries_once() {
        killed_in_the_first_attempt(Next::Resume);
    }
}
