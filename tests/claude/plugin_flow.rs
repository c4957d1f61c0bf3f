//! The plugin as a person gets it: from the marketplace of the repository, or by `askbox setup`.

use crate::support::ClaudeWorld;
use crate::support::output;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

#[test]
fn the_marketplace_of_the_repository_installs_the_plugin_and_setup_then_leaves_it_alone() {
    let world = ClaudeWorld::new();
    for args in [&["plugin", "marketplace", "add", ROOT][..], &["plugin", "install", "askbox@askbox"], &["plugin", "list"]] {
        let outcome = output(world.claude().args(args)).ok();
        assert!(outcome.stdout.contains("askbox"), "{args:?}: {outcome:?}");
    }
    let said = world.run("askbox", &["setup", "--dry-run", "--without", "service"]).ok().stdout;
    assert!(said.contains("settings.json") && !said.contains("skills/askbox"), "{said}");
}
