//! A clock of a world's own, which a test may move while the programs of the world run.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use crate::{World, output, root};

/// The clock of one world. The programs of a static build do not see it.
pub struct Clock {
    file: PathBuf,
}

impl World {
    /// Gives a clock of its own to each program that this world starts from here on. Call it only if the test [needs](crate::needs) `cc`.
    #[track_caller]
    pub fn own_clock(&mut self) -> Clock {
        let (library, file) = (self.path("clock.so"), self.path("clock"));
        let source = root().join("crates/testkit/clock/clock.c");
        output(Command::new("cc").args(["-O1", "-shared", "-fPIC", "-o"]).args([&library, &source])).ok();
        let clock = Clock { file };
        write(&File::create(&clock.file).expect("a file"), Duration::ZERO);
        self.set_env(&[("LD_PRELOAD", &library.display().to_string()), ("ASKBOX_TEST_CLOCK", &clock.file.display().to_string())]);
        clock
    }
}

impl Clock {
    /// Sets the clock to this much after the machine's.
    pub fn set_ahead(&self, by: Duration) {
        // The running programs have mapped this file, so it keeps its place and its length.
        write(&File::options().write(true).open(&self.file).expect("the file"), by);
    }
}

fn write(mut file: &File, by: Duration) {
    let seconds = i64::try_from(by.as_secs()).expect("some years at most");
    file.write_all(&seconds.to_ne_bytes()).expect("the file can be written");
}
