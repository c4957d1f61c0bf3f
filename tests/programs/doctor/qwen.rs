//! The doctor and Qwen: its version.

use serde_json::Value;

use super::{configure, findings, finds, well};
use crate::support::files;

mod promises {
    use super::*;

    #[test]
    fn doctor_finds_a_qwen_that_is_missing_or_old() {
        let mut world = well();
        world.set_path(format!("{}:/usr/bin:/bin", world.path("bin").display()));
        world.sh("mkdir -p bin");
        configure(&world, "[live]\nexperimental_qwen = true\n");
        assert_eq!(finds(&world, "live_without_qwen", "live.experimental_qwen"), "npm install -g @qwen-code/qwen-code");
        let says = |version: &str| files::write_program(&world.path("bin/qwen"), &format!("#!/bin/sh\necho {version}\n"));
        says("0.24.4");
        assert_eq!(findings(&world), [] as [Value; 0]);
        says("0.9.9");
        assert_eq!(finds(&world, "live_version", "bin/qwen"), "npm install -g @qwen-code/qwen-code");
    }
}
