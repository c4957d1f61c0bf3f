//! The doctor and Copilot: its version, and the extension.

use serde_json::Value;

use super::{configure, findings, finds, well};
use crate::support::files;

mod promises {
    use super::*;

    #[test]
    fn doctor_finds_a_copilot_or_an_extension_missing_or_old() {
        let mut world = well();
        world.set_path(format!("{}:/usr/bin:/bin", world.path("bin").display()));
        world.sh("mkdir -p bin");
        configure(&world, "[live]\nexperimental_copilot = true\n");
        let write = "askbox setup --only live --copilot";
        let says = |version: &str| {
            let text = format!("#!/bin/sh\necho 'GitHub Copilot CLI {version}.'\necho 'Run copilot update'\n");
            files::write_program(&world.path("bin/copilot"), &text);
        };
        says("1.0.102");
        assert_eq!(finds(&world, "live_without_plugin", "live.experimental_copilot"), write);
        world.ok("askbox", &["setup", "--yes", "--only", "live", "--copilot"]);
        assert_eq!(findings(&world), [] as [Value; 0]);
        says("1.0.9");
        assert_eq!(finds(&world, "live_version", "bin/copilot"), "npm install -g @github/copilot");
        std::fs::remove_file(world.path("bin/copilot")).unwrap();
        assert_eq!(finds(&world, "live_without_copilot", "live.experimental_copilot"), "npm install -g @github/copilot");
        says("1.0.102");
        let extension = world.home().join(".copilot/extensions/askbox/extension.mjs");
        std::fs::write(&extension, "// of another version\n").unwrap();
        assert!(finds(&world, "live_plugin", "extension.mjs").ends_with(write));
    }
}
