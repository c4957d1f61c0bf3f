//! A running `relaunch watch`.

use std::path::PathBuf;

use crate::{Running, Signal, signal, until};

/// Killed when it is dropped. What it logs on standard error goes to a file of its own.
pub struct Watcher {
    pub process: Running,
    pub log: PathBuf,
}

impl Watcher {
    /// All that it has logged.
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// The lines so far that hold `words`. A line that is still being written does not count.
    pub fn said(&self, words: &str) -> Vec<String> {
        self.log().split_inclusive('\n').filter(|l| l.ends_with('\n') && l.contains(words)).map(|l| l.trim_end().to_owned()).collect()
    }

    /// Waits until it has logged a line that holds `words`, and returns the line.
    #[track_caller]
    pub fn says(&self, words: &str) -> String {
        self.says_times(words, 1).remove(0)
    }

    /// Waits until it has logged `n` such lines.
    #[track_caller]
    pub fn says_times(&self, words: &str, n: usize) -> Vec<String> {
        until(&format!("the watcher says `{words}` {n} times"), || Some(self.said(words)).filter(|said| said.len() >= n))
    }

    /// Ends it as a service manager does, by SIGTERM. The end must be clean.
    #[track_caller]
    pub fn stop(mut self) {
        signal(self.process.pid(), Signal::TERM);
        let status = self.process.wait();
        assert!(status.success(), "{status}");
        self.says("stopped; runs go on");
    }

    /// Sends SIGKILL and waits for the end of the process.
    pub fn kill(self) {}
}
