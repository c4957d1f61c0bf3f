//! Reports of each test for `tests/run`: how long it took, and at once if it failed. The test harness prints a failure when the whole
//! program has ended, and no times on stable Rust.
//!
//! A test is known from its first [`World`](crate::World) or its first [need](crate::needs) until it ends. A test without either of them
//! starts no process, and takes next to no time.

use std::fs::File;
use std::io::Write;
use std::panic::PanicHookInfo;
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::time::Instant;

/// The variable that names the folder of the reports: `times.PROGRAM`, a line for each test, and `red.TEST`, why a test failed.
const FOLDER: &str = "ASKBOX_TEST_REPORTS";

/// The time of the test that runs on this thread. The harness gives each test a thread with the name of the test, unless it runs one test
/// at a time.
struct Clock {
    begun: Instant,
}

thread_local! {
    static CLOCK: Clock = Clock { begun: Instant::now() };
}

/// Begins to report the test that runs on this thread, if that has not begun yet.
pub fn begin() {
    static HOOK: Once = Once::new();
    if folder().is_some() {
        HOOK.call_once(|| {
            let usual = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                tell(panic);
                usual(panic);
            }));
        });
    }
    CLOCK.with(|_| ());
}

fn folder() -> Option<PathBuf> {
    std::env::var_os(FOLDER).map(PathBuf::from)
}

/// Tells why a test fails, on the standard error that the harness does not catch.
fn tell(panic: &PanicHookInfo<'_>) {
    let thread = std::thread::current();
    let test = thread.name().filter(|name| *name != "main");
    let words = panic.payload_as_str().unwrap_or("no words");
    let place = panic.location().map(ToString::to_string).unwrap_or_default();
    let text = format!("\nred: {}\n{place}\n{words}\n", test.unwrap_or("a thread of a test"));
    let _lost = rustix::io::write(rustix::stdio::stderr(), text.as_bytes());
    if let (Some(folder), Some(test)) = (folder(), test) {
        let _lost = std::fs::write(folder.join(format!("red.{test}")), format!("{words}\n{place}\n"));
    }
}

impl Drop for Clock {
    fn drop(&mut self) {
        let (Some(folder), Ok(program)) = (folder(), std::env::current_exe()) else { return };
        let Some(test) = std::thread::current().name().filter(|name| *name != "main").map(str::to_owned) else { return };
        // The name of the program's file ends with a hash.
        let program = program.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let program = program.rsplit_once('-').map_or(program.as_str(), |(name, _)| name);
        let line = format!("{:.1} {program} {test}\n", self.begun.elapsed().as_secs_f64());
        let file = File::options().create(true).append(true).open(Path::new(&folder).join(format!("times.{program}")));
        let _lost = file.and_then(|mut file| file.write_all(line.as_bytes()));
    }
}
