//! The surfaces are programs of their own: `askbox web` becomes `askbox-web`.

use std::path::Path;

use crate::support::World;
use crate::support::files::copy_program;
use crate::support::programs::program;

/// Copies of these programs alone, and the command that runs `askbox` among them.
fn alone(world: &World, names: &[&str]) -> String {
    let folder = world.path("alone");
    std::fs::create_dir(&folder).unwrap();
    let own = Path::new(program("askbox"));
    names.iter().for_each(|name| copy_program(&own.with_file_name(name), &folder.join(name)));
    "PATH=/usr/bin:/bin alone/askbox".into()
}

#[test]
fn a_surface_that_is_not_installed_is_named_with_its_feature() {
    let world = World::new();
    let askbox = alone(&world, &["askbox"]);
    for name in ["web", "mcp", "sync run", "live opencode", "conformance --list"] {
        let said = world.refused(3, &format!("{askbox} {name}"));
        let name = name.split(' ').next().unwrap();
        assert!(said.contains(&format!("`askbox-{name}`")) && said.contains(&format!("--features {name}")), "{said}");
        assert!(world.sh(&format!("{askbox} {name} --help")).contains("Usage: askbox "), "its help is there all the same");
    }
    // What looks at the page goes without it.
    let found: serde_json::Value = serde_json::from_str(&world.sh(&format!("{askbox} doctor --json || true"))).unwrap();
    assert!(found["findings"].is_array(), "{found}");
}

#[test]
fn a_command_becomes_the_surface_beside_askbox_or_on_path() {
    let world = World::new();
    let askbox = alone(&world, &["askbox", "askbox-conformance"]);
    assert!(world.sh(&format!("{askbox} conformance --list")).lines().count() > 20);
    let all = Path::new(program("askbox")).parent().unwrap().display();
    assert_eq!(world.sh(&format!("PATH=/usr/bin:/bin:{all} alone/askbox web sessions --json")), "");
    assert_eq!(world.sh("askbox-web --version"), format!("askbox-web {}", env!("CARGO_PKG_VERSION")));
}

#[test]
fn wrong_words_of_a_surface_are_told_as_those_of_its_command() {
    let world = World::new();
    for (typed, hint) in [
        ("askbox web revok", "did you mean `askbox web revoke`?"),
        ("askbox web --lisen x", "'--listen'"),
        ("askbox live", "usage: askbox live <PROGRAM>"),
        ("askbox-web revok", "did you mean `askbox web revoke`?"),
    ] {
        let said = world.refused(2, typed);
        assert!(said.contains(hint), "{typed}: {said}");
    }
}
