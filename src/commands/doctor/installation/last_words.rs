//! The last words of a program on its standard error. They say why it ended at once.

use std::io::Read;
use std::process::ChildStderr;
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use askbox_mailbox::{text, thread};

/// The number of bytes that are kept of the end.
const KEPT: usize = 4096;
/// A helper of the program may hold the pipe open. Its words are not waited for any longer.
const PATIENCE: Duration = Duration::from_secs(1);

/// The words, while a thread reads them.
pub(super) struct LastWords(Receiver<Vec<u8>>);

/// Reads the standard error of a program until its end.
pub(super) fn read(errors: Option<ChildStderr>) -> LastWords {
    let (sender, receiver) = mpsc::channel();
    let _reader = errors.map(|mut errors| {
        thread::start(move || {
            let (mut tail, mut piece) = (Vec::new(), [0; KEPT]);
            while let Ok(n @ 1..) = errors.read(&mut piece) {
                tail.extend_from_slice(&piece[..n]);
                tail.drain(..tail.len().saturating_sub(KEPT));
            }
            let _ = sender.send(tail);
        })
    });
    LastWords(receiver)
}

impl LastWords {
    /// `: ` and the last line, or nothing.
    pub(super) fn words(&self) -> String {
        let tail = self.0.recv_timeout(PATIENCE).unwrap_or_default();
        let tail = String::from_utf8_lossy(&tail);
        let last = tail.lines().rev().find(|line| !line.trim().is_empty());
        last.map_or_else(String::new, |line| format!(": {}", text::excerpt(line.trim(), 300)))
    }
}
