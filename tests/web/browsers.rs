//! A real browser: Debian's Chromium, driven by the scripts of `browser/`.

use std::path::Path;

use serde_json::Value;

use crate::support::{Outcome, World, output};

/// Runs a script of `browser/` to its end; what it found.
#[track_caller]
pub fn run(world: &World, script: &str, given: &Value) -> Value {
    let outcome = outcome(world, script, given);
    assert!(outcome.status.success(), "{script}: {}", outcome.stderr);
    outcome.json()
}

fn outcome(world: &World, script: &str, given: &Value) -> Outcome {
    let driver = std::env::var("ASKBOX_TEST_BROWSER_DRIVER").expect("tests/run fetches the browser's driver: tests/run web");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/web/browser").join(script);
    let mut command = world.any_command("node");
    output(command.arg(path).env("ASKBOX_TEST_BROWSER_DRIVER", driver).env("GIVEN", given.to_string()))
}
