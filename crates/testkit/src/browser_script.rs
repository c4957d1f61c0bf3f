//! A real browser: Debian's Chromium, driven by the scripts of `tests/web/browser/`.

use serde_json::Value;

use crate::{Outcome, World, output, root};

/// Runs a script of `tests/web/browser/` to its end. Returns what it found.
#[track_caller]
pub fn run(world: &World, script: &str, given: &Value) -> Value {
    let outcome = outcome(world, script, given);
    assert!(outcome.status.success(), "{script}: {}", outcome.stderr);
    outcome.json()
}

fn outcome(world: &World, script: &str, given: &Value) -> Outcome {
    let driver = std::env::var("ASKBOX_TEST_BROWSER_DRIVER").expect("tests/run fetches the browser's driver: tests/run web");
    let path = root().join("tests/web/browser").join(script);
    let mut command = world.any_command("node");
    output(command.arg(path).env("ASKBOX_TEST_BROWSER_DRIVER", driver).env("GIVEN", given.to_string()))
}

/// The folder for pictures of the guides: `docs`, if `ASKBOX_WRITE_DOCS` is set. Else a folder of the world, and nothing is kept.
pub fn pictures_folder(world: &World) -> std::path::PathBuf {
    let folder = match std::env::var_os("ASKBOX_WRITE_DOCS") {
        Some(_) => root().join("docs"),
        None => world.path("pictures"),
    };
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

/// Checks that a picture has a reasonable size.
#[track_caller]
pub fn check_picture(folder: &std::path::Path, name: &str) {
    let length = folder.join(format!("{name}.png")).metadata().expect("the picture").len();
    assert!((4_000..100_000).contains(&length), "{name}: {length} bytes");
}
