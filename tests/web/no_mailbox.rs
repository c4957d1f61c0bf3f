//! A folder that is missing, mistyped or not mounted.

use crate::support::World;

#[test]
fn the_page_makes_no_mailbox_and_says_what_does() {
    let world = World::new();
    let outcome = world.run("askbox", &["web", "--listen", "127.0.0.1:0"]);
    assert_eq!(outcome.status.code(), Some(3), "{}", outcome.words());
    assert!(outcome.stderr.contains("hint:") && !world.mailbox().exists(), "{}", outcome.words());
}
