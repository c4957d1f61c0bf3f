//! The doctor's progress, as one line on standard error if that is a terminal.
#![allow(clippy::disallowed_methods, reason = "it controls the terminal, and shows names of our own folders")]

use std::io::{IsTerminal, Write as _};
use std::time::{Duration, Instant};

/// The time between two updates of the line.
const EVERY: Duration = Duration::from_millis(200);

/// Counts the files that were checked.
pub(super) struct Progress {
    files: u64,
    /// When the line was last written, or the start. `None` if there is no line.
    shown: Option<Instant>,
}

impl Progress {
    /// Starts counting. Pipes and dumb terminals get no output. Other terminals get none before [`EVERY`] has passed.
    pub(super) fn new() -> Self {
        // A dumb terminal prints the codes that rewrite a line, instead of obeying them.
        let rewrites = std::io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|terminal| terminal != "dumb");
        Self { files: 0, shown: rewrites.then(Instant::now) }
    }

    /// Counts one more file, in this folder.
    pub(super) fn count(&mut self, folder: &str) {
        self.files += 1;
        if self.files.is_multiple_of(64) && self.shown.is_some_and(|last| last.elapsed() >= EVERY) {
            let _ = write!(std::io::stderr(), "\r\x1b[Kaskbox doctor: {} files, now in {folder}/", self.files);
            self.shown = Some(Instant::now());
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        let _ = self.shown.map(|_| write!(std::io::stderr(), "\r\x1b[K"));
    }
}
