//! Without `/proc`, or with that of another PID namespace, no process of a run could be found. Whatever would launch an agent says so
//! and changes nothing. Asking and answering go on.

use crate::support::{World, needs};

/// `/proc` is empty, as in a container that hides it.
const EMPTY: &str = "unshare -m sh -c 'mount -t tmpfs none /proc && \"$@\"' sh";
/// `/proc` is that of the namespace above.
const OF_ANOTHER: &str = "unshare --pid --fork";

#[test]
fn without_proc_a_parked_round_stays_parked() {
    needs!("root", "mount");
    let world = World::stepping("exit 1");
    world.configure("attempts = 1");
    world.ask_and_answer("docs");
    world.shell("relaunch docs");
    assert_eq!(world.state("docs"), "parked");
    let said = world.refused(1, &format!("{EMPTY} relaunch retry docs"));
    assert!(said.contains("/proc does not show"), "{said}");
    assert_eq!(world.state("docs"), "parked");
}

mod promises {
    use super::*;

    #[test]
    fn without_proc_nothing_is_launched_and_nothing_is_lost() {
        needs!("root", "mount");
        let world = World::stepping("work");
        for (place, workflow) in [(EMPTY, "empty"), (OF_ANOTHER, "other")] {
            world.sh(&format!("{place} ask-post -w {workflow} Merge? -o a=A"));
            world.sh(&format!("{place} ask-answer {workflow} a"));
            let launchers = [workflow, "watch", "run --prompt hello", "spawn --prompt hello"];
            for command in launchers {
                let said = world.refused(1, &format!("timeout 20 {place} relaunch {command}"));
                assert!(said.contains("/proc does not show the processes of this PID namespace"), "{command}: {said}");
                assert!(said.contains("hint: mount it: mount -t proc proc /proc"), "{command}: {said}");
            }
            let found = world.shell(&format!("{place} askbox doctor")).stdout;
            assert!(found.contains("proc: /proc: ") && found.contains("$ mount -t proc proc /proc"), "{found}");
            assert_eq!((world.state(workflow), world.launches_of(workflow).len()), ("answered".to_owned(), 0));
        }
        world.sh("relaunch empty && relaunch other");
        assert_eq!((world.state("empty"), world.state("other")), ("delivered".to_owned(), "delivered".to_owned()));
    }
}
