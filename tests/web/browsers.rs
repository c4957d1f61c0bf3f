//! A real browser: Debian's Chromium, driven by the scripts of `browser/`.

use std::path::Path;

use serde_json::Value;

use crate::support::{Outcome, Page, World, kill, output, until};

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

/// Runs a script that kills the server of `page` and writes `killed` into its `folder`. Another server then takes its port, and `again`
/// appears there.
#[track_caller]
pub fn run_while_the_server_is_replaced(world: &World, page: &Page, script: &str, mut given: Value) {
    let (port, pid, folder) = (page.port, page.process.pid(), world.path("signs"));
    std::fs::create_dir_all(&folder).expect("a folder");
    given["pid"] = pid.into();
    given["folder"] = folder.to_string_lossy().into();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            until("the server is killed", || folder.join("killed").exists() || folder.join("done").exists());
            // A process that is killed keeps its port for a moment.
            kill(pid);
            let again = world.serve_page_as(world.command("askbox").args(["web", "--listen", &format!("127.0.0.1:{port}")]));
            std::fs::write(folder.join("again"), "").expect("a sign");
            until("the browser is done", || folder.join("done").exists());
            drop(again);
        });
        let done = scope.spawn(|| {
            let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run(world, script, &given)));
            std::fs::write(folder.join("done"), "").expect("a sign");
            ended
        });
        if let Err(panic) = done.join().expect("a verdict") {
            std::panic::resume_unwind(panic);
        }
    });
}
