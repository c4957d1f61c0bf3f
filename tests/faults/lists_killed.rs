//! A program that closes a round is killed at each of its changes, in a mailbox with lists of its newest rounds. Whatever is left of these
//! lists, a reader shows what the documents say.

use crate::faults::syscalls::at_every_point;
use crate::support::{World, needs};

/// Prints the state of `closed/` as a list names it.
const CLOSED: &str =
    "stat -c '{\"inode\":%i,\"seconds\":%Z,\"nanoseconds\":%.9Z,\"links\":%h}' closed | sed 's/:[0-9]*\\.0*\\([0-9]\\)/:\\1/'";

/// Sixty closed rounds of a workflow that asks again, with both lists up to date.
fn asking() -> World {
    let world = World::new();
    world.make_mailbox();
    world.past_rounds("w", 0..60);
    world.sh("ask-post -w w 'Merge?' && ask-answer cancel w && ask-post -w w 'Again?'");
    assert!(world.in_mailbox("recent/w.json").exists());
    world.sh(&format!(
        "cd m && names=$(ls -t closed | jq -R . | jq -s .) && jq -n --argjson names \"$names\" --argjson source \"$({CLOSED})\" \
         '{{schema_version: 1, source: $source, begun: null, count: 62, names: $names}}' >recent/closed && chmod 600 recent/closed"
    ));
    world
}

/// The newest rounds of the mailbox and of the workflow.
fn look(world: &World) -> String {
    world.sh(
        "askbox history --json --limit 5 | jq -c '[.workflow_id, .question_id]'; relaunch status w --json | jq -c '[.question_id, .state]'",
    )
}

fn assert_true(world: &World, when: &str) {
    let by_lists = look(world);
    world.sh("mv m/recent aside");
    let by_documents = look(world);
    world.sh("rm -rf m/recent && mv aside m/recent");
    assert_eq!(by_lists, by_documents, "{when}");
}

#[test]
fn a_killed_closing_leaves_no_list_that_lies() {
    needs!("strace");
    let world = asking();
    world.ok("ask-answer", &["cancel", "w"]);
    assert_true(&world, "nobody was killed");
    let states = world.sh(&format!("cd m && jq -cS .source recent/closed; {CLOSED} | jq -cS ."));
    assert!(states.lines().next() == states.lines().nth(1), "the list is in use: {states}");
    at_every_point(&asking, "ask-answer", &["cancel", "w"], |world, at, _| {
        assert_true(world, at);
        // The next program completes the closing, or finds it done.
        let _ = world.run("ask-answer", &["cancel", "w"]);
        assert_true(world, &format!("{at}, then once more"));
        world.sh("ask-post -w w 'A third time?' && ask-answer cancel w");
        assert_true(world, &format!("{at}, then another round"));
    });
}
