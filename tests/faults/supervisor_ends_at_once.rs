//! A supervisor that cannot begin: it is started again later and later, and the watcher says why.

use crate::support::World;

#[test]
fn supervisors_that_end_at_once_are_started_ever_later() {
    let world = World::new().with_scripted_agent();
    world.make_mailbox();
    let watcher = world.watch();
    let whole = std::fs::read_to_string(world.config()).unwrap();
    // The watcher has read its configuration; a supervisor cannot read it any more.
    world.replace_config("[relaunch\n");
    world.ask_and_answer("docs");
    let said = watcher.says("restart");
    assert!(said.contains("warning: restart") && said.contains("supervisor.log"), "{said}");
    world.replace_config(&whole);
    world.closed("docs", "delivered", 1);
    assert_eq!(world.launches_of("docs").len(), 1);
    assert!(watcher.said("launched  docs").len() <= 3, "{}", watcher.log());
}
