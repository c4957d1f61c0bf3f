//! How long each test takes: `tests/run` prints the slowest. The test harness itself does not tell on stable Rust.
//!
//! A test is measured from its first [`World`](crate::World) or its first [need](crate::needs) until it ends. A test without either of
//! them starts no process, and takes next to no time.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::Instant;

/// The variable that names the folder for the times. Each test program appends to a file of its own there.
const FOLDER: &str = "ASKBOX_TEST_TIMES";

/// The time of the test that runs on this thread. The harness gives each test a thread with the name of the test, unless it runs one test
/// at a time.
struct Clock {
    begun: Instant,
}

thread_local! {
    static CLOCK: Clock = Clock { begun: Instant::now() };
}

/// Begins to measure the test that runs on this thread, if that has not begun yet.
pub fn begin() {
    CLOCK.with(|_| ());
}

impl Drop for Clock {
    fn drop(&mut self) {
        let (Some(folder), Ok(program)) = (std::env::var_os(FOLDER), std::env::current_exe()) else { return };
        let Some(test) = std::thread::current().name().filter(|name| *name != "main").map(str::to_owned) else { return };
        // The name of the program's file ends with a hash.
        let program = program.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let program = program.rsplit_once('-').map_or(program.as_str(), |(name, _)| name);
        let line = format!("{:.1} {program} {test}\n", self.begun.elapsed().as_secs_f64());
        let file = File::options().create(true).append(true).open(Path::new(&folder).join(program));
        let _lost = file.and_then(|mut file| file.write_all(line.as_bytes()));
    }
}
