//! `askbox setup` and the key `live.enabled`.

use std::fs;

use crate::setup::{home, lived_in, tree};
use crate::support::World;

#[test]
fn setup_switches_on_the_dialogs_of_sessions_only_if_asked_to() {
    let is_on = |world: &World| {
        let text = fs::read_to_string(world.home().join(".config/askbox/config.toml")).expect("the file");
        text.lines().any(|line| line == "enabled = true")
    };
    let world = home();
    let before = tree(&world);
    world.ok("askbox", &["setup", "--yes"]);
    assert!(!is_on(&world), "nobody has agreed");
    for _ in 0..2 {
        world.ok("askbox", &["setup", "--yes", "--live"]);
        assert!(is_on(&world));
    }
    assert_eq!(world.ok("askbox", &["setup", "--yes", "--live"]), "Nothing is to do.\n");
    world.ok("askbox", &["setup", "--remove", "--yes"]);
    assert_eq!(tree(&world), before);
    for text in ["[relaunch]\nattempts = 2", "[live] # mine\ngrace = \"1m\"\n[limits]\n", "[live]\nenabled = false\n"] {
        let world = lived_in();
        let path = world.home().join(".config/askbox/config.toml");
        fs::write(&path, text).expect("a file");
        let before = tree(&world);
        let said = world.run("askbox", &["setup", "--yes", "--only", "live"]);
        match text.contains("false") {
            true => assert!(said.code() == 4 && said.stdout.contains("write true yourself"), "{}", said.words()),
            false => assert!(is_on(&world), "{}", said.words()),
        }
        world.ok("askbox", &["setup", "--remove", "--yes"]);
        assert_eq!(tree(&world), before, "{text}");
    }
}
