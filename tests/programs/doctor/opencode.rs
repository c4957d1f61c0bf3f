//! The doctor and opencode: its version, and the plugin.

use serde_json::Value;

use super::{configure, findings, finds, well};
use crate::support::files;

mod promises {
    use super::*;

    #[test]
    fn doctor_finds_an_opencode_or_a_plugin_missing_or_old() {
        let mut world = well();
        world.set_path(format!("{}:/usr/bin:/bin", world.path("bin").display()));
        world.sh("mkdir -p bin");
        files::write_program(&world.path("bin/opencode"), "#!/bin/sh\necho 1.18.33\n");
        assert_eq!(findings(&world), [] as [Value; 0]);
        configure(&world, "[live]\nopencode = true\n");
        let write = "askbox setup --only live --opencode";
        assert_eq!(finds(&world, "live_without_plugin", "live.opencode"), write);
        world.ok("askbox", &["setup", "--yes", "--only", "live", "--opencode"]);
        assert_eq!(findings(&world), [] as [Value; 0]);
        files::write_program(&world.path("bin/opencode"), "#!/bin/sh\necho 1.2.3\n");
        assert_eq!(finds(&world, "live_version", "bin/opencode"), "opencode upgrade");
        std::fs::remove_file(world.path("bin/opencode")).unwrap();
        assert_eq!(finds(&world, "live_without_opencode", "live.opencode"), "npm install -g opencode-ai");
        files::write_program(&world.path("bin/opencode"), "#!/bin/sh\necho 1.18.33\n");
        let plugin = world.home().join(".config/opencode/plugin/askbox.js");
        std::fs::write(&plugin, "// of another version\n").unwrap();
        assert!(finds(&world, "live_plugin", "plugin/askbox.js").ends_with(write));
        std::fs::remove_file(&plugin).unwrap();
        let all = findings(&world);
        let mends: Vec<_> = all.iter().map(|found| (found["kind"].as_str().unwrap(), found["mend"].as_str().unwrap())).collect();
        assert!(mends.contains(&("live_without_plugin", write)) && mends.contains(&("setup_lost", write)), "{all:#?}");
    }
}
