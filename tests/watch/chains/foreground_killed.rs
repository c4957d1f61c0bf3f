//! A foreground command is killed, at each point of its work: what comes next goes on with a watcher, and without one by the next command.

use std::process::Stdio;

use crate::chains::foreground::{SOON, run};
use crate::chains::scripted::Tree;
use crate::support::process::is_alive;
use crate::support::{Running, until};

/// Who goes on after the command that was killed.
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

#[test]
fn a_command_killed_while_it_supervises_the_agent_is_followed_by_one_new_attempt_of_the_watcher() {
    killed_in_the_first_attempt(Next::Watcher);
}

#[test]
fn a_command_killed_while_it_supervises_the_agent_is_followed_by_one_new_attempt_of_the_next_command() {
    killed_in_the_first_attempt(Next::Resume);
}

/// The first attempt has failed, and the command waits for the date of the second one.
fn killed_in_the_back_off(next: Next) {
    let tree = Tree::with("[relaunch]\nbackoff = '5s'\nsame_failure = 0\n");
    tree.does("w", "if [ $n = 1 ]; then echo HOPELESS; else echo at last; fi");
    let running = Running::start(run(&tree, "w").stdout(Stdio::null()));
    tree.world.told("w", 1);
    until("its back-off", || tree.status("w")["state"] == "retrying");
    running.kill();
    next.delivers(&tree, 2);
}

#[test]
fn a_command_killed_in_the_back_off_leaves_the_retry_to_the_watcher() {
    killed_in_the_back_off(Next::Watcher);
}

#[test]
fn a_command_killed_in_the_back_off_leaves_the_retry_to_the_next_command() {
    killed_in_the_back_off(Next::Resume);
}

/// The second attempt has a supervisor of its own, which goes on.
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
fn a_command_killed_during_a_later_attempt_leaves_it_running_and_a_watcher_launches_nothing() {
    killed_in_a_later_attempt(Next::Watcher);
}

#[test]
fn a_command_killed_during_a_later_attempt_leaves_it_running_and_the_next_command_gets_its_result() {
    killed_in_a_later_attempt(Next::Resume);
}

#[test]
fn the_end_of_a_runs_orphans_spares_the_supervisor_that_its_agent_started_for_another_run() {
    let tree = Tree::new();
    tree.does("w", "relaunch spawn --background -w child --prompt go; echo started; sleep 1000");
    tree.does("child", "while [ ! -e \"$AGENT_DIR/go\" ]; do sleep 0.05; done; echo baked");
    let running = Running::start(run(&tree, "w").stdout(Stdio::null()).stderr(Stdio::null()));
    tree.world.told("child", 1);
    let supervisors = tree.world.processes("supervise");
    let [of_child] = supervisors[..] else { panic!("{supervisors:?}") };
    let parent = || std::fs::read_to_string(format!("/proc/{of_child}/stat")).unwrap().rsplit(") ").next().unwrap().to_owned();
    let adopter = parent().split(' ').nth(1).unwrap().to_owned();
    assert_eq!(adopter, running.0.id().to_string(), "the supervisor of the child is no orphan that the run's supervisor has adopted");
    tree.world.ok("relaunch", &["stop", "w", "--now"]);
    until("nothing of the parent's run lives", || tree.status("w")["state"] == "interrupted");
    drop(running);
    assert!(is_alive(of_child), "the supervisor of another run was ended with the run");
    std::fs::write(tree.world.agent("go"), "").unwrap();
    assert_eq!((tree.result("child").as_str(), tree.launches("child")), ("baked", 1));
}
