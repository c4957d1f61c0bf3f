//! A real browser, driven by the scripts of `browser/`, whose server is killed.

use serde_json::Value;

pub use crate::support::browser_script::run;
use crate::support::{Page, World, kill, until};

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
